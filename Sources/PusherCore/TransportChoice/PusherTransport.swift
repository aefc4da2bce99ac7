/// A way in which the protocol's messages travel.
public enum PusherTransport: String, Hashable, Sendable, CaseIterable {
    /// A WebSocket: the fastest way, and the only one for which keys can be pinned.
    case webSocket
    /// HTTP requests, where the server's messages come in a response that stays open: pusher-js calls it `xhr_streaming`.
    case httpStreaming
    /// HTTP requests, where each response ends with the messages that have come: pusher-js calls it `xhr_polling`.
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

/// Which transport carries a connection, and why others that the app allows do not.
package struct TransportReport: Hashable, Sendable {
    package var transport: PusherTransport
    package var unused: [PusherTransport: PusherClientError]

    package init(_ transport: PusherTransport, unused: [PusherTransport: PusherClientError] = [:]) {
        self.transport = transport
        self.unused = unused
    }
}
