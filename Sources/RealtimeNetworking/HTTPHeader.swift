/// A header field of an HTTP request or response. Printing a field does not show its value, which may be secret.
public struct HTTPHeader: Hashable, Sendable {
    /// The field's name.
    public var name: String
    /// The field's value.
    public var value: String

    /// Creates a header field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

extension HTTPHeader: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name without the value.
    public var description: String { name }
    /// The name without the value.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the value.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
