import CRealtimeJSON

/// The decoder of one value, which is also the container of that value. It fits into an existential without a box.
struct ValueDecoder: Decoder, SingleValueDecodingContainer {
    let document: JSONDocument
    let index: Int

    @inline(__always) private var tape: Tape { document.tape }

    var codingPath: [any CodingKey] { tape.path(to: index) }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try tape.keyedContainer(keyedBy: type, at: index)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try tape.unkeyedContainer(at: index) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func decodeNil() -> Bool { tape.word(index).isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try tape.bool(at: index) }
    func decode(_ type: String.Type) throws -> String { try tape.string(at: index) }
    func decode(_ type: Double.Type) throws -> Double { try tape.double(at: index) }
    func decode(_ type: Float.Type) throws -> Float { try tape.float(at: index) }
    func decode(_ type: Int.Type) throws -> Int { try tape.integer(type, at: index) }
    func decode(_ type: Int8.Type) throws -> Int8 { try tape.integer(type, at: index) }
    func decode(_ type: Int16.Type) throws -> Int16 { try tape.integer(type, at: index) }
    func decode(_ type: Int32.Type) throws -> Int32 { try tape.integer(type, at: index) }
    func decode(_ type: Int64.Type) throws -> Int64 { try tape.integer(type, at: index) }
    func decode(_ type: UInt.Type) throws -> UInt { try tape.integer(type, at: index) }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try tape.integer(type, at: index) }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try tape.integer(type, at: index) }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try tape.integer(type, at: index) }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try tape.integer(type, at: index) }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: Int128.Type) throws -> Int128 { try tape.integer(type, at: index) }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    func decode(_ type: UInt128.Type) throws -> UInt128 { try tape.integer(type, at: index) }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try tape.value(type, at: index) }
}

extension Tape {
    @inline(__always)
    func decoder(of index: Int) -> ValueDecoder { ValueDecoder(document: document, index: index) }
}
