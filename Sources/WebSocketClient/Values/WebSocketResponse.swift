public import RealtimeNetworking

/// The HTTP response with which a server refused the upgrade to a WebSocket.
public struct WebSocketResponse: Hashable, Sendable {
    /// The HTTP status.
    public var status: Int
    /// The header fields, in their order.
    public var headers: HTTPHeaderFields
    /// The first 64 KiB of the body. If the server does not send the whole body within
    /// ``WebSocketOptions/closeTimeout``, the client does not wait for the rest.
    public var body: [UInt8]

    /// Creates a response.
    public init(status: Int, headers: HTTPHeaderFields = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// ``body`` as text.
    public var bodyText: String { String(decoding: body, as: UTF8.self) }

    /// Returns the value of a header field. Names are case-insensitive. Commas join the values of repeated fields.
    public func header(_ name: String) -> String? { headers[name] }
}

extension WebSocketResponse: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The status. The header fields and the body may be secret.
    public var description: String { "\(status)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows no secrets.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
