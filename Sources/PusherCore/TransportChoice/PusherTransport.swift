/// How the protocol's messages are carried.
public enum PusherTransport: String, Hashable, Sendable, CaseIterable {
    /// A WebSocket: the fastest transport, and the only one that can check pins.
    case webSocket
    /// HTTP requests, with the server's messages in a response that stays open. pusher-js calls it `xhr_streaming`.
    case httpStreaming
    /// HTTP requests, with each response ending after a batch of messages. pusher-js calls it `xhr_polling`.
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

/// Which transport carries a connection, and why other allowed transports do not.
package struct TransportReport: Hashable, Sendable {
    package var transport: PusherTransport
    package var unused: [PusherTransport: PusherClientError]

    package init(_ transport: PusherTransport, unused: [PusherTransport: PusherClientError] = [:]) {
        self.transport = transport
        self.unused = unused
    }
}
