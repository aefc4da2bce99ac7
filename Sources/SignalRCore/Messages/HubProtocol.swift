/// The encoding of messages.
package enum HubProtocol: Hashable, Sendable {
    case json
    case messagePack

    /// The name in the handshake.
    package var name: String {
        switch self {
        case .json: "json"
        case .messagePack: "messagepack"
        }
    }

    /// Whether frames are binary instead of text.
    package var isBinary: Bool { self == .messagePack }

    /// Returns the whole frame for a message.
    package func encode(_ message: HubMessage) -> [UInt8] {
        switch self {
        case .json: JSONHubProtocol.encode(message)
        case .messagePack: MessagePackHubProtocol.encode(message)
        }
    }

    /// Reads the content of a frame. Returns `nil` if this version does not know the type of the message.
    package func decode(_ payload: ArraySlice<UInt8>) throws(HubProtocolViolation) -> HubMessage? {
        switch self {
        case .json: try JSONHubProtocol.decode(payload)
        case .messagePack: try MessagePackHubProtocol.decode(payload)
        }
    }

    /// The encoding of a missing value.
    package var null: EncodedValue {
        switch self {
        case .json: Array("null".utf8)[...]
        case .messagePack: [0xC0]
        }
    }
}
