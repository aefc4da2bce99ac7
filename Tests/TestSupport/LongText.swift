/// A text that the test runner shows in short form, in one line. As an argument of a test it may have any length.
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
