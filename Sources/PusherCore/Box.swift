/// A value that is stored outside of its holder. The holder stays small, and the value is copied only if two holders
/// share it and one changes it.
package struct Box<Value: Hashable & Sendable>: Hashable, Sendable {
    /// Exactly one value.
    private var storage: [Value]

    package init(_ value: Value) { storage = [value] }

    package var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    /// For optional chaining. The value may be changed, but not removed.
    package var optional: Value? {
        get { value }
        _modify {
            // The value has one holder while it changes, so that it is not copied.
            var value: Value? = storage.removeLast()
            defer { if let value { storage.append(value) } }
            yield &value
        }
    }
}
