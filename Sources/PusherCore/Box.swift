/// A value in memory of its own. Its holder stays small, and it is copied only when one of two holders changes it.
package struct Box<Value: Hashable & Sendable>: Hashable, Sendable {
    /// Exactly one value.
    private var storage: [Value]

    package init(_ value: Value) { storage = [value] }

    package var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    /// For optional chaining. The value may be changed, and must not be taken away.
    package var optional: Value? {
        get { value }
        _modify {
            // It has one holder while it changes, or what it holds would be copied.
            var value: Value? = storage.removeLast()
            defer { if let value { storage.append(value) } }
            yield &value
        }
    }
}
