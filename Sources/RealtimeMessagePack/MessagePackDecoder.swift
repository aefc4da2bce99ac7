import Foundation

/// Decodes values directly from MessagePack bytes.
///
/// The decoder reads the output of ``MessagePackEncoder``, numbers of any width, and .NET's `DateTimeOffset` as a
/// `Date`.
package struct MessagePackDecoder: Sendable {
    package var keyStrategy: MessagePackKeyStrategy
    /// Whether a floating-point number fits an integer if its value is whole.
    package var acceptsFloatsForIntegers: Bool

    package init(keyStrategy: MessagePackKeyStrategy = .asIs, acceptsFloatsForIntegers: Bool = true) {
        self.keyStrategy = keyStrategy
        self.acceptsFloatsForIntegers = acceptsFloatsForIntegers
    }

    /// Decodes bytes that contain exactly one value.
    ///
    /// - Throws: `DecodingError`, or an error of the type.
    package func decode<T: Decodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        let value: T = try MessagePackValueDecoder(bytes, self, at: .root, depth: 0).decode(type)
        do {
            var reader = MessagePackReader(bytes)
            try reader.skip()
            guard reader.isAtEnd else { throw MessagePackError.trailingBytes }
        } catch {
            throw DecodingError(error, at: .root)
        }
        return value
    }
}

extension Decoder {
    package var isMessagePackDecoder: Bool { self is MessagePackValueDecoder }

    /// Reads an extension. Returns `nil` if the decoder is not a decoder of ``MessagePackDecoder``.
    package func messagePackExtension() throws -> (type: Int8, bytes: ArraySlice<UInt8>)? {
        guard let decoder = self as? MessagePackValueDecoder else { return nil }
        return try decoder.read { reader throws(MessagePackError) in try reader.readExtension() }
    }
}

extension DecodingError {
    init(_ error: any Error, at path: MessagePackPath, for type: Any.Type = Any.self) {
        let context = Context(codingPath: path.keys, debugDescription: "\(error)", underlyingError: error)
        switch error as? MessagePackError {
        case .unexpected(.nil, _): self = .valueNotFound(type, context)
        case .unexpected: self = .typeMismatch(type, context)
        default: self = .dataCorrupted(context)
        }
    }
}

/// The decoder of one value.
struct MessagePackValueDecoder: Decoder {
    /// The bytes from the start of the value. More bytes may follow the value.
    let bytes: ArraySlice<UInt8>
    let options: MessagePackDecoder
    var keys = MessagePackKeyMeaning.properties
    let path: MessagePackPath
    let depth: Int

    init(_ bytes: ArraySlice<UInt8>, _ options: MessagePackDecoder, at path: MessagePackPath, depth: Int) {
        self.bytes = bytes
        self.options = options
        self.path = path
        self.depth = depth
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func read<T>(_ body: (inout MessagePackReader) throws(MessagePackError) -> T) throws -> T {
        var reader = MessagePackReader(bytes)
        do throws(MessagePackError) {
            return try body(&reader)
        } catch {
            throw DecodingError(error, at: path, for: T.self)
        }
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        guard depth < MessagePackReader.maximumDepth else { throw DecodingError(MessagePackError.tooDeep, at: path) }
        if type == Data.self, let value = Data(try read { r throws(MessagePackError) in try r.readBinary() }) as? T {
            return value
        }
        if type == Date.self, let value = try decodeDate() as? T { return value }
        if type == URL.self, let value = try decodeText("a URL", URL.init(string:)) as? T { return value }
        if type == Decimal.self, let value = try decodeDecimal() as? T { return value }
        if let type = type as? any IntegerKeyedDecodable.Type, isMap, let value = try type.init(fromMap: self) as? T {
            return value
        }
        var decoder = self
        decoder.keys = MessagePackKeyMeaning(of: type)
        return try T(from: decoder)
    }

    /// Decodes a timestamp, or .NET's pair of a timestamp and the minutes from UTC.
    private func decodeDate() throws -> Date {
        let (type, data) = try read { reader throws(MessagePackError) in
            if case .array = try reader.peekHeader() { _ = try reader.readArrayCount() }
            return try reader.readExtension()
        }
        guard type == MessagePackTimestamp.extensionType, let time = MessagePackTimestamp(extensionBytes: data) else {
            throw corrupted("The extension of type \(type) with \(data.count) bytes is not a timestamp.")
        }
        return Date(timeIntervalSince1970: Double(time.seconds) + Double(time.nanoseconds) / 1e9)
    }

    private func decodeDecimal() throws -> Decimal {
        if case .string = try read({ reader throws(MessagePackError) in try reader.peekHeader() }) {
            return try decodeText("a decimal number") { Decimal(string: $0, locale: Locale(identifier: "en_US_POSIX")) }
        }
        return Decimal(try read { reader throws(MessagePackError) in try reader.readDouble() })
    }

    private func decodeText<T>(_ meaning: String, _ make: (String) -> T?) throws -> T {
        let text = try read { reader throws(MessagePackError) in try reader.readString() }
        guard let value = make(text) else { throw corrupted("The text is not \(meaning).") }
        return value
    }

    private func corrupted(_ text: String) -> DecodingError {
        .dataCorrupted(DecodingError.Context(codingPath: codingPath, debugDescription: text))
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        let map = MessagePackMap(entries: try mapEntries(), decoder: self)
        return KeyedDecodingContainer(MessagePackKeyedDecoding<Key>(map: map))
    }

    private var isMap: Bool {
        if case .map = try? MessagePackReader(bytes).peekHeader() { true } else { false }
    }

    /// Returns the pairs of a map, whose keys become text.
    func mapEntries() throws -> [MessagePackMapEntry] {
        try read { reader throws(MessagePackError) in
            var entries: [MessagePackMapEntry] = []
            for _ in 0..<(try reader.readMapCount()) {
                let key: ArraySlice<UInt8> =
                    switch try reader.peekHeader() {
                    case .string: try reader.readStringBytes()
                    // The keys of .NET dictionaries can be numbers, but Swift looks keys up as text.
                    case .unsigned, .negative: Array("\(try reader.readInteger(as: Int128.self))".utf8)[...]
                    default: try reader.readValue()
                    }
                entries.append(MessagePackMapEntry(key: key, value: try reader.readValue()))
            }
            return entries
        }
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try MessagePackUnkeyedDecoding(self) }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

    func child(_ bytes: ArraySlice<UInt8>, _ key: any CodingKey) -> MessagePackValueDecoder {
        MessagePackValueDecoder(bytes, options, at: .key(key, in: path), depth: depth + 1)
    }
}

extension MessagePackValueDecoder: SingleValueDecodingContainer {
    func decodeNil() -> Bool {
        var reader = MessagePackReader(bytes)
        return reader.readNil()
    }

    private func integer<T: FixedWidthInteger>() throws -> T {
        try read { [options] reader throws(MessagePackError) in
            if !options.acceptsFloatsForIntegers {
                switch try reader.peekHeader() {
                case .float, .double: throw .unexpected(try reader.peekHeader(), expected: "an integer")
                default: break
                }
            }
            return try reader.readInteger()
        }
    }

    func decode(_ type: Bool.Type) throws -> Bool { try read { r throws(MessagePackError) in try r.readBool() } }
    func decode(_ type: String.Type) throws -> String { try read { r throws(MessagePackError) in try r.readString() } }
    func decode(_ type: Double.Type) throws -> Double { try read { r throws(MessagePackError) in try r.readDouble() } }
    func decode(_ type: Float.Type) throws -> Float {
        let value = try decode(Double.self)
        let float = Float(value)
        // An overflow must not turn a finite value into infinity.
        guard float.isFinite || !value.isFinite else { throw DecodingError(MessagePackError.outOfRange, at: path) }
        return float
    }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
}

/// A pair of a map, as positions in the bytes.
struct MessagePackMapEntry {
    var key: ArraySlice<UInt8>
    var value: ArraySlice<UInt8>
}

/// The pairs of a map, found by their keys.
private final class MessagePackMap {
    let entries: [MessagePackMapEntry]
    let decoder: MessagePackValueDecoder
    /// The index of the next entry to try. Most types read their properties in the order of the bytes.
    private var next = 0

    init(entries: [MessagePackMapEntry], decoder: MessagePackValueDecoder) {
        self.entries = entries
        self.decoder = decoder
    }

    func value(_ name: String) -> ArraySlice<UInt8>? {
        let key =
            switch decoder.keys {
            case .properties: decoder.options.keyStrategy.key(for: name)
            case .dictionary: name
            }
        for offset in entries.indices {
            let index = (next + offset) % entries.count
            guard entries[index].key.elementsEqual(key.utf8) else { continue }
            next = index + 1
            return entries[index].value
        }
        return nil
    }
}

private struct MessagePackKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let map: MessagePackMap

    var codingPath: [any CodingKey] { map.decoder.codingPath }
    var allKeys: [Key] {
        map.entries.compactMap { entry in
            let text = String(decoding: entry.key, as: UTF8.self)
            switch map.decoder.keys {
            case .properties:
                return map.decoder.options.keyStrategy.names(for: text).lazy.compactMap { Key(stringValue: $0) }.first
            case .dictionary: return Key(stringValue: text)
            }
        }
    }

    func contains(_ key: Key) -> Bool { map.value(key.stringValue) != nil }

    private func decoder(_ key: any CodingKey) throws -> MessagePackValueDecoder {
        guard let bytes = map.value(key.stringValue) else {
            let text = "There is no value for the key \"\(key.stringValue)\"."
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: text))
        }
        return map.decoder.child(bytes, key)
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).decodeNil() }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try decoder(key).decode(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try decoder(key).decode(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try decoder(key).decode(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try decoder(key).decode(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try decoder(key).decode(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try decoder(key).decode(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try decoder(key).decode(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try decoder(key).decode(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try decoder(key).decode(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try decoder(key).decode(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try decoder(key).decode(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try decoder(key).decode(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try decoder(key).decode(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try decoder(key).decode(type) }
    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try decoder(key).decode(type) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try decoder(MessagePackKey.super) }
    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct MessagePackUnkeyedDecoding: UnkeyedDecodingContainer {
    private let decoder: MessagePackValueDecoder
    private var reader: MessagePackReader
    private let total: Int
    private(set) var currentIndex = 0

    init(_ decoder: MessagePackValueDecoder) throws {
        self.decoder = decoder
        (reader, total) = try decoder.read { reader throws(MessagePackError) in
            let count = try reader.readArrayCount()
            // A type may reserve memory for `count` elements. Each element has at least one byte, so a server cannot
            // announce more elements than it has sent bytes.
            guard count <= reader.remainingCount else { throw .truncated }
            return (reader, count)
        }
    }

    var count: Int? { total }
    var codingPath: [any CodingKey] { decoder.codingPath }
    var isAtEnd: Bool { currentIndex >= total }

    private mutating func next(_ type: Any.Type) throws -> MessagePackValueDecoder {
        let key = MessagePackKey(intValue: currentIndex)
        let path = MessagePackPath.key(key, in: decoder.path)
        guard !isAtEnd else {
            let text = "The array has only \(total) values."
            throw DecodingError.valueNotFound(type, .init(codingPath: path.keys, debugDescription: text))
        }
        do throws(MessagePackError) {
            let bytes = try reader.readValue()
            currentIndex += 1
            return decoder.child(bytes, key)
        } catch {
            throw DecodingError(error, at: path)
        }
    }

    /// Decodes a value, and then advances the position. If decoding fails, the position does not change.
    private mutating func decoding<T>(_ type: T.Type, _ body: (MessagePackValueDecoder) throws -> T) throws -> T {
        var copy = self
        let value = try body(try copy.next(type))
        self = copy
        return value
    }

    mutating func decodeNil() throws -> Bool {
        var copy = self
        guard try copy.next(Any?.self).decodeNil() else { return false }
        self = copy
        return true
    }

    mutating func decode(_ type: Bool.Type) throws -> Bool { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: String.Type) throws -> String { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Double.Type) throws -> Double { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Float.Type) throws -> Float { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int.Type) throws -> Int { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int8.Type) throws -> Int8 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int16.Type) throws -> Int16 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int32.Type) throws -> Int32 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: Int64.Type) throws -> Int64 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt.Type) throws -> UInt { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt8.Type) throws -> UInt8 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt16.Type) throws -> UInt16 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt32.Type) throws -> UInt32 { try decoding(type) { try $0.decode(type) } }
    mutating func decode(_ type: UInt64.Type) throws -> UInt64 { try decoding(type) { try $0.decode(type) } }
    mutating func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoding(type) { try $0.decode(type) } }

    mutating func nestedContainer<NestedKey: CodingKey>(
        keyedBy type: NestedKey.Type
    ) throws -> KeyedDecodingContainer<NestedKey> {
        try decoding(KeyedDecodingContainer<NestedKey>.self) { try $0.container(keyedBy: type) }
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try decoding((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
    }

    mutating func superDecoder() throws -> any Decoder { try decoding((any Decoder).self) { $0 } }
}
