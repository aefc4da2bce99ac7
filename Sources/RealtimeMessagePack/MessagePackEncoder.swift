import Foundation

/// Encodes values directly as MessagePack bytes.
///
/// `Data` becomes binary data, `Date` becomes a timestamp, and `URL` and `Decimal` become strings.
package struct MessagePackEncoder: Sendable {
    package var keyStrategy: MessagePackKeyStrategy

    package init(keyStrategy: MessagePackKeyStrategy = .asIs) { self.keyStrategy = keyStrategy }

    /// - Throws: `EncodingError`, or an error of the value.
    package func encode(_ value: some Encodable) throws -> [UInt8] {
        let output = MessagePackOutput()
        try output.encode(value, keyStrategy, at: .root)
        return output.writer.bytes
    }
}

extension Encoder {
    /// Encodes an extension. Returns `false` if the encoder is not an encoder of ``MessagePackEncoder``.
    package func encodeMessagePackExtension(type: Int8, _ data: some Collection<UInt8>) throws -> Bool {
        guard let encoder = self as? MessagePackValueEncoder else { return false }
        try encoder.encodeScalar { $0.writeExtension(type: type, data) }
        return true
    }

    package var isMessagePackEncoder: Bool { self is MessagePackValueEncoder }
}

/// The shared output of the encoders.
final class MessagePackOutput {
    var writer = MessagePackWriter()

    func encode<T: Encodable>(_ value: T, _ strategy: MessagePackKeyStrategy, at path: MessagePackPath) throws {
        switch value {
        case let value as Data: writer.writeBinary(value)
        case let value as Date:
            writer.writeExtension(
                type: MessagePackTimestamp.extensionType,
                try MessagePackTimestamp(value, at: path).extensionBytes
            )
        case let value as URL: writer.write(value.absoluteString)
        case let value as Decimal: writer.write(value.description)
        case let value as any IntegerKeyedEncodable: try value.encode(to: self, strategy, at: path)
        default:
            let encoder = MessagePackValueEncoder(self, strategy, keys: MessagePackKeyMeaning(of: T.self), at: path)
            try value.encode(to: encoder)
            try encoder.finish()
        }
    }
}

/// The map or array that one encoder writes.
///
/// The number of values is unknown at first. So the encoder first writes the header of an empty container, and replaces
/// the header at the end.
final class MessagePackContainer {
    enum Kind {
        case array
        case map
    }

    let output: MessagePackOutput
    let kind: Kind
    let strategy: MessagePackKeyStrategy
    private let keys: MessagePackKeyMeaning
    let path: MessagePackPath
    private let start: Int
    private(set) var count = 0
    /// The nested containers with their positions. The app may write to nested containers until this container is
    /// finished.
    private var nested: [(offset: Int, encoder: MessagePackValueEncoder)] = []

    init(
        _ kind: Kind,
        in output: MessagePackOutput,
        _ strategy: MessagePackKeyStrategy,
        keys: MessagePackKeyMeaning,
        at path: MessagePackPath
    ) {
        self.output = output
        self.kind = kind
        self.strategy = strategy
        self.keys = keys
        self.path = path
        start = output.writer.bytes.count
    }

    func add(_ key: (any CodingKey)?) {
        count += 1
        guard let key else { return }
        switch keys {
        case .properties: output.writer.write(strategy.key(for: key.stringValue))
        case .dictionary: output.writer.write(key.stringValue)
        }
    }

    func addValue(_ value: some Encodable, _ key: (any CodingKey)?) throws {
        let path = MessagePackPath.key(key ?? MessagePackKey(intValue: count), in: path)
        add(key)
        try output.encode(value, strategy, at: path)
    }

    func addNested(_ key: (any CodingKey)?) -> MessagePackValueEncoder {
        let path = MessagePackPath.key(key ?? MessagePackKey(intValue: count), in: path)
        add(key)
        let encoder = MessagePackValueEncoder(MessagePackOutput(), strategy, keys: .properties, at: path)
        nested.append((output.writer.bytes.count, encoder))
        return encoder
    }

    func finish() throws {
        for (offset, encoder) in nested.reversed() {
            try encoder.finish()
            output.writer.insert(encoder.output.writer.bytes, at: offset)
        }
        var header = MessagePackWriter()
        switch kind {
        case .array: header.writeArrayHeader(count)
        case .map: header.writeMapHeader(count)
        }
        output.writer.insert(header.bytes, at: start)
    }
}

/// The encoder of one value.
final class MessagePackValueEncoder: Encoder {
    let output: MessagePackOutput
    private let strategy: MessagePackKeyStrategy
    private let keys: MessagePackKeyMeaning
    private let path: MessagePackPath
    private var container: MessagePackContainer?
    private var hasScalar = false
    private var misuse: EncodingError?

    init(
        _ output: MessagePackOutput,
        _ strategy: MessagePackKeyStrategy,
        keys: MessagePackKeyMeaning,
        at path: MessagePackPath
    ) {
        self.output = output
        self.strategy = strategy
        self.keys = keys
        self.path = path
    }

    var codingPath: [any CodingKey] { path.keys }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(MessagePackKeyedEncoding(container: open(.map)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer { MessagePackUnkeyedEncoding(container: open(.array)) }

    func singleValueContainer() -> any SingleValueEncodingContainer { self }

    /// Opens the container, or returns the open container of the same kind. A class and its superclass can both request
    /// the container, and then both write to the same container.
    private func open(_ kind: MessagePackContainer.Kind) -> MessagePackContainer {
        if let container, container.kind == kind { return container }
        if container != nil || hasScalar {
            misuse = error("The value asks for two containers of different kinds.")
            return MessagePackContainer(kind, in: MessagePackOutput(), strategy, keys: keys, at: path)
        }
        let opened = MessagePackContainer(kind, in: output, strategy, keys: keys, at: path)
        container = opened
        return opened
    }

    func encodeScalar(_ write: (inout MessagePackWriter) throws -> Void) throws {
        if hasScalar || container != nil { throw error("The value encodes more than one value.") }
        hasScalar = true
        try write(&output.writer)
    }

    /// Finishes the value. As in JSON, a value that encodes nothing becomes an empty map.
    func finish() throws {
        if let misuse { throw misuse }
        if let container {
            try container.finish()
        } else if !hasScalar {
            output.writer.writeMapHeader(0)
        }
    }

    private func error(_ text: String) -> EncodingError {
        .invalidValue((), EncodingError.Context(codingPath: codingPath, debugDescription: text))
    }
}

extension MessagePackValueEncoder: SingleValueEncodingContainer {
    func encodeNil() throws { try encodeScalar { $0.writeNil() } }
    func encode(_ value: Bool) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: String) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Double) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Float) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Int) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Int8) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Int16) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Int32) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: Int64) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: UInt) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: UInt8) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: UInt16) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: UInt32) throws { try encodeScalar { $0.write(value) } }
    func encode(_ value: UInt64) throws { try encodeScalar { $0.write(value) } }

    func encode<T: Encodable>(_ value: T) throws {
        if hasScalar || container != nil { throw error("The value encodes more than one value.") }
        hasScalar = true
        try output.encode(value, strategy, at: path)
    }
}

private struct MessagePackKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let container: MessagePackContainer

    var codingPath: [any CodingKey] { container.path.keys }

    private func add(_ key: Key, _ write: (inout MessagePackWriter) -> Void) {
        container.add(key)
        write(&container.output.writer)
    }

    func encodeNil(forKey key: Key) throws { add(key) { $0.writeNil() } }
    func encode(_ value: Bool, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: String, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Double, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Float, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Int, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Int8, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Int16, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Int32, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: Int64, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: UInt, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: UInt8, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: UInt16, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: UInt32, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode(_ value: UInt64, forKey key: Key) throws { add(key) { $0.write(value) } }
    func encode<T: Encodable>(_ value: T, forKey key: Key) throws { try container.addValue(value, key) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<NestedKey> {
        container.addNested(key).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        container.addNested(key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { container.addNested(MessagePackKey.super) }
    func superEncoder(forKey key: Key) -> any Encoder { container.addNested(key) }
}

private struct MessagePackUnkeyedEncoding: UnkeyedEncodingContainer {
    let container: MessagePackContainer

    var codingPath: [any CodingKey] { container.path.keys }
    var count: Int { container.count }

    private func add(_ write: (inout MessagePackWriter) -> Void) {
        container.add(nil)
        write(&container.output.writer)
    }

    func encodeNil() throws { add { $0.writeNil() } }
    func encode(_ value: Bool) throws { add { $0.write(value) } }
    func encode(_ value: String) throws { add { $0.write(value) } }
    func encode(_ value: Double) throws { add { $0.write(value) } }
    func encode(_ value: Float) throws { add { $0.write(value) } }
    func encode(_ value: Int) throws { add { $0.write(value) } }
    func encode(_ value: Int8) throws { add { $0.write(value) } }
    func encode(_ value: Int16) throws { add { $0.write(value) } }
    func encode(_ value: Int32) throws { add { $0.write(value) } }
    func encode(_ value: Int64) throws { add { $0.write(value) } }
    func encode(_ value: UInt) throws { add { $0.write(value) } }
    func encode(_ value: UInt8) throws { add { $0.write(value) } }
    func encode(_ value: UInt16) throws { add { $0.write(value) } }
    func encode(_ value: UInt32) throws { add { $0.write(value) } }
    func encode(_ value: UInt64) throws { add { $0.write(value) } }
    func encode<T: Encodable>(_ value: T) throws { try container.addValue(value, nil) }

    func nestedContainer<NestedKey: CodingKey>(
        keyedBy keyType: NestedKey.Type
    ) -> KeyedEncodingContainer<NestedKey> {
        container.addNested(nil).container(keyedBy: keyType)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { container.addNested(nil).unkeyedContainer() }
    func superEncoder() -> any Encoder { container.addNested(nil) }
}

extension MessagePackTimestamp {
    fileprivate init(_ date: Date, at path: MessagePackPath) throws {
        let time = date.timeIntervalSince1970
        // The code may round to nanoseconds, because a `Date` near the present has a resolution of about 100 ns.
        let whole = time.rounded(.down)
        let nanoseconds = ((time - whole) * 1e9).rounded()
        guard let seconds = Int64(exactly: whole), let nanoseconds = UInt32(exactly: nanoseconds) else {
            throw EncodingError.invalidValue(
                date,
                EncodingError.Context(
                    codingPath: path.keys,
                    debugDescription: "The date does not fit into a timestamp."
                )
            )
        }
        let carries = nanoseconds == 1_000_000_000
        self.init(seconds: carries ? seconds &+ 1 : seconds, nanoseconds: carries ? 0 : nanoseconds)
    }
}
