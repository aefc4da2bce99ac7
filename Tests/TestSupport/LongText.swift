/// A string that the test runner shows in a short form on one line. Tests can use strings of any length as arguments.
package struct LongText: Sendable, ExpressibleByStringInterpolation, CustomStringConvertible {
    package let text: String

    package init(_ text: String) { self.text = text }
    package init(stringLiteral text: String) { self.text = text }
    package init(repeating part: String, count: Int) { text = String(repeating: part, count: count) }

    package var description: String {
        let start = text.prefix(100)
        guard start.endIndex < text.endIndex else { return text.debugDescription }
        return "\(start.debugDescription)… (\(text.utf8.count) bytes)"
    }
}
