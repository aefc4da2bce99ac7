import RealtimeMessagePack

/// A time in MessagePack, with nanoseconds. `Date` has the same encoding, but a lower resolution.
public struct MsgpackTimestamp: Equatable, Sendable {
    /// The seconds since 1970-01-01T00:00:00Z.
    public var seconds: Int64
    /// The nanoseconds, from 0 to 999,999,999.
    public var nanoseconds: UInt32

    /// Creates a time.
    public init(seconds: Int64, nanoseconds: UInt32) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }
}

extension MsgpackTimestamp: Codable {
    /// Decodes the time from the extension of type -1.
    ///
    /// - Throws: `DecodingError` if the protocol is not MessagePack.
    public init(from decoder: any Decoder) throws {
        let (type, bytes) = try decoder.getMsgpackExt()
        guard type == MessagePackTimestamp.extensionType, let time = MessagePackTimestamp(extensionBytes: bytes) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "The extension is not a timestamp.")
            )
        }
        self.init(seconds: time.seconds, nanoseconds: time.nanoseconds)
    }

    /// Encodes the time as the extension of type -1.
    ///
    /// - Throws: `EncodingError` if the protocol is not MessagePack.
    public func encode(to encoder: any Encoder) throws {
        let time = MessagePackTimestamp(seconds: seconds, nanoseconds: nanoseconds)
        try encoder.encodeMsgpackExt(extType: MessagePackTimestamp.extensionType, extData: Data(time.extensionBytes))
    }
}

extension Encoder {
    /// Returns whether the encoder writes MessagePack.
    public func isMsgpackEncoder() -> Bool { isMessagePackEncoder }

    /// Encodes a MessagePack extension.
    ///
    /// - Throws: `EncodingError` if the encoder does not write MessagePack, or has already encoded a value.
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
    /// Returns whether the decoder reads MessagePack.
    public func isMsgpackDecoder() -> Bool { isMessagePackDecoder }

    /// Returns the type of the extension that the decoder reads.
    ///
    /// - Throws: `DecodingError` if the value is not an extension, or if the decoder does not read MessagePack.
    public func getMsgpackExtType() throws -> Int8 { try getMsgpackExt().type }

    /// Returns the data of the extension that the decoder reads.
    ///
    /// - Throws: `DecodingError` if the value is not an extension, or if the decoder does not read MessagePack.
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
