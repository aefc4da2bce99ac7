/// The transports that a client may use, the preferred one first.
///
/// ```swift
/// let options = PusherClientOptions(cluster: "eu")
/// options.transports = .webSocketWithHTTPFallback
/// ```
/// If there are several, each attempt to connect begins with the first. The next one starts after 2 s if the one before
/// is a WebSocket, else after 4 s, or as soon as the one before fails. The client uses the first transport whose server
/// greets it, and closes the others.
///
/// The client remembers for 30 minutes which transport carried the last connection to a server. An HTTP transport is
/// tried first only after those before it had three more chances. If HTTP streaming loses two connections early, HTTP
/// polling takes its place.
public struct PusherTransports: Hashable, Sendable {
    /// The transports in their order, each of them once.
    public let elements: [PusherTransport]

    /// Makes a list of transports.
    ///
    /// - Parameter elements: The transports, the preferred one first. Repetitions are ignored. If there are none, the
    ///   client makes no attempt, and reports ``PusherClientError/Code/invalidOption``.
    public init(_ elements: [PusherTransport]) {
        self.elements = elements.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// WebSocket only.
    public static let webSocket: Self = [.webSocket]
    /// WebSocket, and HTTP if WebSockets are blocked: first streaming, then polling, as in pusher-js.
    ///
    /// With ``TLSOptions/pins``, which cannot be checked over HTTP, the client stays with WebSocket.
    public static let webSocketWithHTTPFallback: Self = [.webSocket, .httpStreaming, .httpPolling]

    var hasHTTP: Bool { elements.contains { $0 != .webSocket } }
}

extension PusherTransports: ExpressibleByArrayLiteral {
    /// Makes a list of transports, the preferred one first.
    public init(arrayLiteral elements: PusherTransport...) { self.init(elements) }
}

extension PusherTransports: CustomStringConvertible {
    /// The transports in plain words: `WebSocket, HTTP streaming`.
    public var description: String { elements.map(\.description).joined(separator: ", ") }
}
