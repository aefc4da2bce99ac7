import CRealtimeJSON

/// The container of an array. It fits into an existential without a box.
struct UnkeyedContainer: UnkeyedDecodingContainer {
    private let document: JSONDocument
    private let array: Int32
    private var next: Int32
    private var position: Int32 = 0
    private let size: Int32

    fileprivate init(document: JSONDocument, array: Int) {
        self.document = document
        self.array = Int32(truncatingIfNeeded: array)
        next = self.array &+ Int32(truncatingIfNeeded: REALTIME_JSON_ARRAY_HEADER)
        size = Int32(truncatingIfNeeded: document.tape.word(array).length)
    }

    @inline(__always) private var tape: Tape { document.tape }

    var codingPath: [any CodingKey] { tape.path(to: Int(array)) }
    var count: Int? { Int(size) }
    var isAtEnd: Bool { position >= size }
    var currentIndex: Int { Int(position) }

    @inline(__always)
    private mutating func advance() {
        next = Int32(truncatingIfNeeded: tape.index(after: Int(next)))
        position &+= 1
    }

    /// Returns the result of a closure for the index of the next element, and advances if the closure succeeds.
    @inline(__always)
    private mutating func read<T>(_ type: Any.Type, _ body: (Tape, Int) throws -> T) throws -> T {
        guard position < size else { throw atEnd(type) }
        let value = try body(tape, Int(next))
        advance()
        return value
    }

    @inline(__always)
    private mutating func readIfPresent<T>(_ body: (Tape, Int) throws -> T) throws -> T? {
        guard position < size else {
            // As in Foundation. The position stops before it can overflow.
            if position < .max { position &+= 1 }
            return nil
        }
        let value = tape.word(Int(next)).isNull ? nil : try body(tape, Int(next))
        advance()
        return value
    }

    @inline(never)
    private func atEnd(_ type: Any.Type) -> DecodingError {
        .valueNotFound(
            type,
            DecodingError.Context(
                codingPath: codingPath + [PathKey.index(currentIndex)],
                debugDescription: type == (any Decoder).self
                    ? "Cannot get superDecoder() -- unkeyed container is at end." : "Unkeyed container is at end."
            )
        )
    }

    mutating func decodeNil() throws -> Bool {
        guard position < size else { throw atEnd(Never.self) }
        guard tape.word(Int(next)).isNull else { return false }
        advance()
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try read(type) { try $0.bool(at: $1) } }
    mutating func decode(_ type: String.Type) throws -> String { try read(type) { try $0.string(at: $1) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try read(type) { try $0.double(at: $1) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try read(type) { try $0.float(at: $1) } }
    @inline(__always)
    private mutating func integer<T: FixedWidthInteger>() throws -> T {
        try read(T.self) { try $0.integer(T.self, at: $1) }
    }
    mutating func decode(_ type: Int.Type) throws -> Int { try integer() }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: Int128.Type) throws -> Int128 { try integer() }
    @available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *)
    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try integer() }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try read(type) { try $0.value(type, at: $1) }
    }

    mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? { try readIfPresent { try $0.bool(at: $1) } }
    mutating func decodeIfPresent(_ type: String.Type) throws -> String? { try readIfPresent { try $0.string(at: $1) } }
    mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? { try readIfPresent { try $0.double(at: $1) } }
    mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? { try readIfPresent { try $0.float(at: $1) } }
    @inline(__always)
    private mutating func integerIfPresent<T: FixedWidthInteger>() throws -> T? {
        try readIfPresent { try $0.integer(T.self, at: $1) }
    }
    mutating func decodeIfPresent(_ type: Int.Type) throws -> Int? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int8.Type) throws -> Int8? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int16.Type) throws -> Int16? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int32.Type) throws -> Int32? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: Int64.Type) throws -> Int64? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt.Type) throws -> UInt? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt8.Type) throws -> UInt8? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt16.Type) throws -> UInt16? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt32.Type) throws -> UInt32? { try integerIfPresent() }
    mutating func decodeIfPresent(_ type: UInt64.Type) throws -> UInt64? { try integerIfPresent() }
    mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
        try readIfPresent { try $0.value(type, at: $1) }
    }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try read(KeyedDecodingContainer<NestedKey>.self) { try $0.keyedContainer(keyedBy: type, at: $1) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try read((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer(at: $1) }
    }

    mutating func superDecoder() throws -> any Decoder { try read((any Decoder).self) { $0.decoder(of: $1) } }
}

extension Tape {
    @inline(__always)
    func unkeyedContainer(at index: Int) throws -> UnkeyedContainer {
        guard word(index).kind == REALTIME_JSON_ARRAY else { throw notAnArray(at: index) }
        return UnkeyedContainer(document: document, array: index)
    }

    @inline(never)
    private func notAnArray(at index: Int) -> DecodingError {
        guard word(index).isNull else { return mismatchOfType([Any].self, at: index) }
        let description = "Cannot get unkeyed decoding container -- found null value instead"
        return missing([Any].self, at: index, description)
    }
}
