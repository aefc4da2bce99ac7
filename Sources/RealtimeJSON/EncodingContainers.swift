/// The encoder of one value.
struct ValueEncoder: Encoder {
    let output: JSONOutput
    let depth: Int
    let number: UInt32

    var codingPath: [any CodingKey] { output.unsupportedPath() }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(
            KeyedEncodingPart<Key>(output: output, position: output.open(true, for: number, at: depth))
        )
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        UnkeyedEncodingPart(output: output, position: output.open(false, for: number, at: depth))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }
}

extension ValueEncoder: SingleValueEncodingContainer {
    private func single(_ write: () throws -> Void) rethrows {
        output.beginSingle(number, at: depth)
        try write()
        output.endSingle(number)
    }

    func encodeNil() { single { output.writeNull() } }
    func encode(_ value: Bool) { single { output.write(value) } }
    func encode(_ value: String) { single { output.write(string: value) } }
    func encode(_ value: Double) throws { try single { try output.write(float: value) } }
    func encode(_ value: Float) throws { try single { try output.write(float: value) } }
    func encode(_ value: Int) { single { output.write(integer: value) } }
    func encode(_ value: Int8) { single { output.write(integer: value) } }
    func encode(_ value: Int16) { single { output.write(integer: value) } }
    func encode(_ value: Int32) { single { output.write(integer: value) } }
    func encode(_ value: Int64) { single { output.write(integer: value) } }
    func encode(_ value: UInt) { single { output.write(integer: value) } }
    func encode(_ value: UInt8) { single { output.write(integer: value) } }
    func encode(_ value: UInt16) { single { output.write(integer: value) } }
    func encode(_ value: UInt32) { single { output.write(integer: value) } }
    func encode(_ value: UInt64) { single { output.write(integer: value) } }
    func encode<Value: Encodable>(_ value: Value) throws { try single { try output.write(value) } }
}

struct KeyedEncodingPart<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let output: JSONOutput
    let position: ContainerPosition

    var codingPath: [any CodingKey] { output.unsupportedPath() }

    private func begin(_ key: Key) throws { try output.begin(key, at: position) }

    func encodeNil(forKey key: Key) throws {
        try begin(key)
        output.writeNull()
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try begin(key)
        output.write(value)
    }

    func encode(_ value: String, forKey key: Key) throws {
        try begin(key)
        output.write(string: value)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try begin(key)
        try output.write(float: value)
    }

    func encode(_ value: Float, forKey key: Key) throws {
        try begin(key)
        try output.write(float: value)
    }

    private func write(_ value: some FixedWidthInteger, _ key: Key) throws {
        try begin(key)
        output.write(integer: value)
    }

    func encode(_ value: Int, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: Int8, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: Int16, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: Int32, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: Int64, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: UInt, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: UInt8, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: UInt16, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: UInt32, forKey key: Key) throws { try write(value, key) }
    func encode(_ value: UInt64, forKey key: Key) throws { try write(value, key) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        try begin(key)
        try output.write(value)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        try? begin(key)
        return KeyedEncodingContainer(KeyedEncodingPart<NestedKey>(output: output, position: output.openNested(true)))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        try? begin(key)
        return UnkeyedEncodingPart(output: output, position: output.openNested(false))
    }

    func superEncoder() -> any Encoder { output.unsupportedEncoder() }
    func superEncoder(forKey key: Key) -> any Encoder { output.unsupportedEncoder() }
}

struct UnkeyedEncodingPart: UnkeyedEncodingContainer {
    let output: JSONOutput
    let position: ContainerPosition

    var codingPath: [any CodingKey] { output.unsupportedPath() }
    var count: Int { output.count(at: position) }

    private func begin() throws { try output.begin(at: position) }

    func encodeNil() throws {
        try begin()
        output.writeNull()
    }

    func encode(_ value: Bool) throws {
        try begin()
        output.write(value)
    }

    func encode(_ value: String) throws {
        try begin()
        output.write(string: value)
    }

    func encode(_ value: Double) throws {
        try begin()
        try output.write(float: value)
    }

    func encode(_ value: Float) throws {
        try begin()
        try output.write(float: value)
    }

    private func write(_ value: some FixedWidthInteger) throws {
        try begin()
        output.write(integer: value)
    }

    func encode(_ value: Int) throws { try write(value) }
    func encode(_ value: Int8) throws { try write(value) }
    func encode(_ value: Int16) throws { try write(value) }
    func encode(_ value: Int32) throws { try write(value) }
    func encode(_ value: Int64) throws { try write(value) }
    func encode(_ value: UInt) throws { try write(value) }
    func encode(_ value: UInt8) throws { try write(value) }
    func encode(_ value: UInt16) throws { try write(value) }
    func encode(_ value: UInt32) throws { try write(value) }
    func encode(_ value: UInt64) throws { try write(value) }

    func encode<Value: Encodable>(_ value: Value) throws {
        try begin()
        try output.write(value)
    }

    func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
        try? begin()
        return KeyedEncodingContainer(KeyedEncodingPart<NestedKey>(output: output, position: output.openNested(true)))
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        try? begin()
        return UnkeyedEncodingPart(output: output, position: output.openNested(false))
    }

    func superEncoder() -> any Encoder { output.unsupportedEncoder() }
}
