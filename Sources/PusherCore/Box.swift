/// A value that is stored outside of its holder, so that the holder stays small. Swift copies the value only if two
/// holders share it and one of them changes it.
package struct Box<Value: Sendable>: Sendable {
    /// An array with one value. The array is empty only while ``optional`` changes the value.
    private var storage: [Value]

    package init(_ value: Value) { storage = [value] }

    package var value: Value {
        _read { yield storage[0] }
        _modify { yield &storage[0] }
    }

    /// The value as an optional, for optional chaining. Never set this property to `nil`.
    package var optional: Value? {
        get { value }
        _modify {
            // Take the value out of the array during the change. Otherwise, two references would exist, and the change
            // would copy the value.
            var value: Value? = storage.removeLast()
            defer { if let value { storage.append(value) } }
            yield &value
        }
    }
}

extension Box: Equatable where Value: Equatable {}
extension Box: Hashable where Value: Hashable {}
