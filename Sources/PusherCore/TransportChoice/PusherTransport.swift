/// A way to carry the messages of the protocol.
public enum PusherTransport: String, Hashable, Sendable, CaseIterable {
    /// A WebSocket. This is the fastest transport, and the only transport that can check pins.
    case webSocket
    /// HTTP requests. The server sends its messages in a response that stays open. pusher-js calls this transport
    /// `xhr_streaming`.
    case httpStreaming
    /// HTTP requests. Each response ends after a batch of messages. pusher-js calls this transport `xhr_polling`.
    case httpPolling
}

extension PusherTransport: CustomStringConvertible {
    /// The name in plain words: `WebSocket`, `HTTP streaming`, `HTTP polling`.
    public var description: String {
        switch self {
        case .webSocket: "WebSocket"
        case .httpStreaming: "HTTP streaming"
        case .httpPolling: "HTTP polling"
        }
    }
}

/// The transport of a connection, and the reasons why the client does not use other allowed transports.
package struct TransportReport: Hashable, Sendable {
    package var transport: PusherTransport
    package var unused: [PusherTransport: PusherClientError]

    package init(_ transport: PusherTransport, unused: [PusherTransport: PusherClientError] = [:]) {
        self.transport = transport
        self.unused = unused
    }
}
