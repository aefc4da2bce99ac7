/// A dictionary whose keys are integers in MessagePack too.
///
/// A dictionary encodes itself as an array of keys and values unless its keys are coding keys, and coding keys have no
/// integers beyond `Int`. So these dictionaries do not encode and decode themselves.
protocol IntegerKeyedEncodable {
    func encode(to output: MessagePackOutput, _ strategy: MessagePackKeyStrategy, at path: MessagePackPath) throws
}

protocol IntegerKeyedDecodable {
    /// - Parameter decoder: A decoder of a map.
    init(fromMap decoder: MessagePackValueDecoder) throws
}

extension Dictionary: IntegerKeyedEncodable where Key: FixedWidthInteger, Value: Encodable {
    func encode(to output: MessagePackOutput, _ strategy: MessagePackKeyStrategy, at path: MessagePackPath) throws {
        output.writer.writeMapHeader(count)
        for (key, value) in self {
            let path = MessagePackPath.key(MessagePackKey(stringValue: "\(key)"), in: path)
            guard UInt64(exactly: key) != nil || Int64(exactly: key) != nil else {
                let text = "The key does not fit into 64 bits."
                throw EncodingError.invalidValue(
                    key,
                    EncodingError.Context(codingPath: path.keys, debugDescription: text)
                )
            }
            output.writer.write(key)
            try output.encode(value, strategy, at: path)
        }
    }
}

extension Dictionary: IntegerKeyedDecodable where Key: FixedWidthInteger, Value: Decodable {
    init(fromMap decoder: MessagePackValueDecoder) throws {
        self.init()
        for entry in try decoder.mapEntries() {
            // Languages without integers as keys write them as text.
            let text = String(decoding: entry.key, as: UTF8.self)
            let value = decoder.child(entry.value, MessagePackKey(stringValue: text))
            guard let key = Key(text) else {
                throw DecodingError.typeMismatch(
                    Key.self,
                    DecodingError.Context(
                        codingPath: value.codingPath,
                        debugDescription: "The key is not a '\(Key.self)'."
                    )
                )
            }
            self[key] = try value.decode(Value.self)
        }
    }
}
