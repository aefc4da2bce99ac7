/// The name of a method, as a key. As in .NET, upper and lower case are equal, and otherwise names are equal if their bytes
/// are. Swift strings are also equal if they differ in their Unicode normalization.
package struct MethodName: Hashable, Sendable {
    /// The name in lower case.
    package let text: String

    package init(_ name: String) { text = name.lowercased() }

    package static func == (left: Self, right: Self) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

    package func hash(into hasher: inout Hasher) { for byte in text.utf8 { hasher.combine(byte) } }
}

extension MethodName: ExpressibleByStringInterpolation {
    package init(stringLiteral name: String) { self.init(name) }
}
