/// The transports that a client may use, the preferred one first.
///
/// ```swift
/// let options = PusherClientOptions(cluster: "eu")
/// options.transports = .webSocketWithHTTPFallback
/// ```
/// The first attempt to connect begins with the first transport. The next transport starts as soon as the previous one
/// fails. If the previous transport neither connects nor fails, the next transport starts after 2 s (WebSocket) or 4 s
/// (HTTP). With a short ``PusherTimeouts/connectionAttempt``, it starts earlier, so that each transport gets at most an
/// equal share of the time. The client uses the first transport whose server greets it, and closes the others.
///
/// The client remembers for 30 minutes which transport carried the last connection to a server, and begins the next
/// attempt with it. If it was not the preferred transport, the next three attempts still begin with the preferred
/// transport. If HTTP streaming loses two connections early, the client uses HTTP polling instead for 30 minutes.
public struct PusherTransports: Hashable, Sendable {
    /// The transports in order, without repetitions.
    public let elements: [PusherTransport]

    /// Creates a list of transports.
    ///
    /// - Parameter elements: The transports, the preferred one first. The client ignores repetitions. If the list is
    ///   empty, the client makes no attempt, and reports ``PusherClientError/Code/invalidOption``.
    public init(_ elements: [PusherTransport]) {
        self.elements = elements.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// WebSocket only.
    public static let webSocket: Self = [.webSocket]
    /// WebSocket, and HTTP if WebSockets are blocked: first streaming, then polling, as in pusher-js.
    public static let webSocketWithHTTPFallback: Self = [.webSocket, .httpStreaming, .httpPolling]

    var hasHTTP: Bool { elements.contains { $0 != .webSocket } }
}

extension PusherTransports: ExpressibleByArrayLiteral {
    /// Creates a list of transports, the preferred one first.
    public init(arrayLiteral elements: PusherTransport...) { self.init(elements) }
}

extension PusherTransports: CustomStringConvertible {
    /// The transports in plain words: `WebSocket, HTTP streaming`.
    public var description: String { elements.map(\.description).joined(separator: ", ") }
}
