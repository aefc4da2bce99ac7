import RealtimeMessagePack

/// A time in MessagePack, to the nanosecond. `Date` is encoded in the same way, with a lower resolution.
public struct MsgpackTimestamp: Equatable, Sendable {
    /// Seconds since 1970-01-01T00:00:00Z.
    public var seconds: Int64
    /// 0 to 999,999,999.
    public var nanoseconds: UInt32

    /// Creates a time.
    public init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}

extension MsgpackTimestamp: Codable {
    /// Decodes the extension of type -1.
    ///
    /// - Throws: `DecodingError` for other protocols than MessagePack.
    public init(from decoder: any Decoder) throws {
        let (type, bytes) = try decoder.getMsgpackExt()
        guard type == MessagePackTimestamp.extensionType, let time = MessagePackTimestamp(extensionBytes: bytes) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "The extension is not a timestamp.")
            )
        }
        self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
    }

    /// Encodes the extension of type -1.
    ///
    /// - Throws: `EncodingError` for other protocols than MessagePack.
    public func encode(to encoder: any Encoder) throws {
        let time = MessagePackTimestamp(seconds: seconds, nanoseconds: nanoseconds)
        try encoder.encodeMsgpackExt(extType: MessagePackTimestamp.extensionType, extData: Data(time.extensionBytes))
    }
}

extension Encoder {
    /// Whether values are encoded as MessagePack.
    public func isMsgpackEncoder() -> Bool { isMessagePackEncoder }

    /// Encodes an extension of MessagePack.
    ///
    /// - Throws: `EncodingError` if this is not an encoder of MessagePack, or has already encoded a value.
    public func encodeMsgpackExt(extType: Int8, extData: Data) throws {
        guard try encodeMessagePackExtension(type: extType, extData) else {
            throw EncodingError.invalidValue(
                extData,
                .init(codingPath: codingPath, debugDescription: "Only MessagePack has extensions.")
            )
        }
    }
}

extension Decoder {
    /// Whether values are decoded from MessagePack.
    public func isMsgpackDecoder() -> Bool { isMessagePackDecoder }

    /// The type of the extension that is being decoded.
    ///
    /// - Throws: `DecodingError` if the value is not an extension.
    public func getMsgpackExtType() throws -> Int8 { try getMsgpackExt().type }

    /// The data of the extension that is being decoded.
    ///
    /// - Throws: `DecodingError` if the value is not an extension.
    public func getMsgpackExtData() throws -> Data { Data(try getMsgpackExt().bytes) }

    fileprivate func getMsgpackExt() throws -> (type: Int8, bytes: ArraySlice<UInt8>) {
        guard let value = try messagePackExtension() else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "Only MessagePack has extensions.")
            )
        }
        return value
    }
}
