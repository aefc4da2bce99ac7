import NIOCore

/// A message of a WebSocket.
public enum WebSocketMessage: Hashable, Sendable {
    /// A text.
    case text(String)
    /// Bytes.
    case binary([UInt8])

    /// The size in bytes, without frame headers.
    public var size: Int {
        switch self {
        case .text(let text): text.utf8.count
        case .binary(let bytes): bytes.count
        }
    }
}

extension WebSocketMessage: ExpressibleByStringLiteral {
    /// Creates a text message.
    public init(stringLiteral value: String) { self = .text(value) }
}

extension WebSocketConnection {
    /// Writes a message, which the next ``flush()`` sends.
    func send(_ message: WebSocketMessage, promise: EventLoopPromise<Void>?) {
        switch message {
        case .text(let text): send(text, promise: promise)
        case .binary(let bytes): sendBinary(ByteBuffer(bytes: bytes), promise: promise)
        }
    }
}
