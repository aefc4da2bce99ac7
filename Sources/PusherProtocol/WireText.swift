/// A string that is compared byte by byte, as servers compare the names and ids of the protocol.
///
/// Swift's `String` ignores differences in Unicode normalization. For example, "é" equals "e" with a combining accent,
/// and "K" equals the Kelvin sign. As a `String`, two users with such ids would be the same user.
package struct WireText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

    package func hash(into hasher: inout Hasher) {
        var text = text
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        // A hash of several strings must differ if a byte moves from one string to the next.
        hasher.combine(0xFF as UInt8)
    }
}

extension String {
    /// Compares the bytes of the strings. See ``WireText``.
    package func hasSameBytes(as other: String) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }
}

/// A dictionary whose keys are names or ids of the protocol. See ``WireText``.
package struct WireTable<Value> {
    private var elements: [WireText: Value] = [:]

    package init() {}

    /// If a key appears twice, the last one counts.
    package init(_ elements: some Sequence<(String, Value)>) {
        for (key, value) in elements { self.elements[WireText(key)] = value }
    }

    package init(_ dictionary: [String: Value]) { self.init(dictionary.lazy.map { ($0.key, $0.value) }) }

    package subscript(key: String) -> Value? {
        get { elements[WireText(key)] }
        _modify { yield &elements[WireText(key)] }
    }

    package subscript(key: String, default value: @autoclosure () -> Value) -> Value {
        get { elements[WireText(key), default: value()] }
        _modify { yield &elements[WireText(key), default: value()] }
    }

    package var count: Int { elements.count }
    package var isEmpty: Bool { elements.isEmpty }
    package var keys: some Collection<String> { elements.keys.lazy.map(\.text) }
    package var values: some Collection<Value> { elements.values }

    /// The elements with Swift's strings as keys. Keys that differ only in Unicode normalization become one key.
    package var dictionary: [String: Value] { Dictionary(map { ($0.key, $0.value) }) { _, last in last } }

    /// Changes a value in place. Returns `nil` if there is no such key.
    package mutating func update<Result>(_ key: String, _ change: (inout Value) -> Result) -> Result? {
        guard let index = elements.index(forKey: WireText(key)) else { return nil }
        return change(&elements.values[index])
    }

    /// Returns the old value.
    package mutating func updateValue(_ value: Value, forKey key: String) -> Value? {
        elements.updateValue(value, forKey: WireText(key))
    }

    /// Returns the old value.
    @discardableResult
    package mutating func removeValue(forKey key: String) -> Value? { elements.removeValue(forKey: WireText(key)) }
}

extension WireTable: Sequence {
    package func makeIterator() -> some IteratorProtocol<(key: String, value: Value)> {
        elements.lazy.map { (key: $0.key.text, value: $0.value) }.makeIterator()
    }
}

extension WireTable: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, Value)...) { self.init(elements) }
}

extension WireTable: Equatable where Value: Equatable {}
extension WireTable: Hashable where Value: Hashable {}
extension WireTable: Sendable where Value: Sendable {}
