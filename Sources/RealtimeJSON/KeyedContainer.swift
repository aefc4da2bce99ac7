import CRealtimeJSON

/// A container of an object. For each call of a method, the standard library copies the value. So the value contains no
/// reference, and does not keep the document alive. See ``KeptContainers``.
struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let reader: UnsafeMutablePointer<ObjectReader>

    @inline(__always) private var tape: Tape { reader.pointee.tape }

    var codingPath: [any CodingKey] { tape.path(to: reader.pointee.object) }

    var allKeys: [Key] { tape.keys(of: reader.pointee.object) }

    /// Returns the index of a member's value; nil if there is no such member.
    @inline(__always)
    private func member(_ key: Key, isRead: Bool) -> Int? {
        guard let names = reader.pointee.names else {
            return tape.member(key.stringValue, reader.place, isRead: isRead)
        }
        let id = MemoryLayout<Key>.size == 0 ? 0 : Int(unsafeBitCast(key, to: UInt8.self))
        guard id < ObjectReader.nameCount else {
            return tape.member(key.stringValue, reader.place, isRead: isRead)
        }
        let name = names + id
        if name.pointee.bytes == nil { reader.pointee.remember(key.stringValue, at: id) }
        let bit = UInt32(truncatingIfNeeded: id)
        let index = realtime_json_next_member(tape.bytes, tape.words, reader.place, name, bit, isRead)
        return index != 0 ? index : tape.member(name, reader.place, isRead: isRead) { key.stringValue }
    }

    @inline(never)
    private func notFound(_ key: some CodingKey) -> DecodingError {
        .keyNotFound(
            key,
            DecodingError.Context(
                codingPath: codingPath,
                debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."
            )
        )
    }

    @inline(__always)
    private func index(_ key: Key) throws -> Int {
        guard let index = member(key, isRead: true) else { throw notFound(key) }
        return index
    }

    /// Returns the index of a member's value; nil if there is no such member, or if its value is null.
    @inline(__always)
    private func indexIfPresent(_ key: Key) -> Int? {
        guard let index = member(key, isRead: true), !tape.word(index).isNull else { return nil }
        return index
    }

    func contains(_ key: Key) -> Bool { member(key, isRead: false) != nil }

    func decodeNil(forKey key: Key) throws -> Bool {
        guard let index = member(key, isRead: false) else { throw notFound(key) }
        return tape.word(index).isNull
    }

    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try tape.bool(at: index(key)) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try tape.string(at: index(key)) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try tape.double(at: index(key)) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try tape.float(at: index(key)) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try tape.integer(type, at: index(key)) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try tape.integer(type, at: index(key)) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try tape.integer(type, at: index(key)) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try tape.integer(type, at: index(key)) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try tape.integer(type, at: index(key)) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try tape.integer(type, at: index(key)) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try tape.integer(type, at: index(key)) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try tape.integer(type, at: index(key)) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try tape.integer(type, at: index(key)) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try tape.integer(type, at: index(key)) }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try tape.integer(type, at: index(key)) }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try tape.integer(type, at: index(key)) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try tape.value(type, at: index(key)) }

    func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
        try indexIfPresent(key).map(tape.bool(at:))
    }
    func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
        try indexIfPresent(key).map(tape.string(at:))
    }
    func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
        try indexIfPresent(key).map(tape.double(at:))
    }
    func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
        try indexIfPresent(key).map(tape.float(at:))
    }
    @inline(__always)
    private func integerIfPresent<T: FixedWidthInteger>(_ key: Key) throws -> T? {
        try indexIfPresent(key).map { try tape.integer(T.self, at: $0) }
    }
    func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try integerIfPresent(key) }
    func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try integerIfPresent(key) }
    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
        guard let index = indexIfPresent(key) else { return nil }
        return try tape.value(type, at: index)
    }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try tape.keyedContainer(keyedBy: type, at: index(key))
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try tape.unkeyedContainer(at: index(key))
    }

    func superDecoder() throws -> any Decoder {
        let key = PathKey.name("super")
        return try decoder(of: tape.member(key.stringValue, reader.place, isRead: true), key)
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(of: member(key, isRead: true), key) }

    private func decoder(of index: Int?, _ key: some CodingKey) throws -> ValueDecoder {
        tape.decoder(of: try index ?? tape.addMissingValue(codingPath + [key]))
    }
}

extension Tape {
    @inline(__always)
    func keyedContainer<Key: CodingKey>(
        keyedBy type: Key.Type,
        at index: Int
    ) throws -> KeyedDecodingContainer<Key> {
        guard word(index).kind == REALTIME_JSON_OBJECT else { throw notAnObject(at: index) }
        try open(index, keyedBy: type)
        if let box = storage.pointee.readers.take(for: ObjectIdentifier(type), object: index) {
            return unsafeBitCast(box, to: KeyedDecodingContainer<Key>.self)
        }
        return makeContainer(keyedBy: type, at: index)
    }

    @inline(never)
    private func notAnObject(at index: Int) -> DecodingError {
        guard word(index).isNull else { return mismatchOfType([String: Any].self, at: index) }
        let description = "Cannot get keyed decoding container -- found null value instead"
        return missing([String: Any].self, at: index, description)
    }

    @inline(never)
    private func makeContainer<Key: CodingKey>(keyedBy type: Key.Type, at index: Int) -> KeyedDecodingContainer<Key> {
        let reader = UnsafeMutablePointer<ObjectReader>.allocate(capacity: 1)
        reader.initialize(to: ObjectReader(tape: self, hasNames: MemoryLayout<Key>.size <= 1))
        reader.pointee.begin(index)
        let container = KeyedDecodingContainer(KeyedContainer<Key>(reader: reader))
        storage.pointee.readers.add(unsafeBitCast(container, to: ContainerBox.self), reader, ObjectIdentifier(type))
        return container
    }
}
