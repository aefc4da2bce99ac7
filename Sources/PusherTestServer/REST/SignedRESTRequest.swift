import PusherEncryption
import PusherProtocol

/// A request to Pusher's REST API, signed for an application. You can send it with any HTTP client.
///
/// ```swift
/// let request = server.publishRequest(event: "flash", data: "{}", to: ["news"])
/// var http = URLRequest(url: URL(string: server.url + request.pathAndQuery)!)
/// http.httpMethod = request.method
/// http.httpBody = Data(request.body.utf8)
/// ```
public struct SignedRESTRequest: Hashable, Sendable {
    /// The method, in upper case.
    public let method: String
    /// The percent-encoded path and query. The query contains the signature.
    public let pathAndQuery: String
    /// The body to send. Empty if the request has no body.
    public let body: String

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: The method, for example `POST`.
    ///   - path: The path without a query, for example `/apps/1/events`.
    ///   - parameters: The query's parameters, not percent-encoded and without the parameters of the signature.
    ///   - body: The body. Default: empty.
    ///   - application: The application whose key and secret sign the request.
    ///   - timestamp: The time in whole seconds since 1970. Nil, the default, means the current time.
    public init(
        method: String,
        path: String,
        parameters: [String: String] = [:],
        body: String = "",
        application: PusherTestServer.Application,
        timestamp: Int? = nil
    ) {
        let query = application.signer.query(
            method: method,
            path: path,
            parameters: parameters,
            body: Array(body.utf8),
            timestamp: timestamp ?? SystemTime.unixSeconds
        )
        self.method = method.uppercased()
        self.pathAndQuery = "\(path)?\(query)"
        self.body = body
    }
}

extension PusherTestServer {
    /// Returns a signed request that publishes an event through this server's REST API; see ``url``.
    ///
    /// - Parameters:
    ///   - name: The event's name.
    ///   - data: The data, usually JSON text. Subscribers get the data byte for byte. For an encrypted channel, this
    ///     method encrypts the data with the channel's key, as a backend's library does.
    ///   - channels: The channels' names, 1 to 100, or one encrypted channel. The name of a user's own channel is
    ///     `#server-to-user-`, followed by the user's id.
    ///   - socketID: The connection that does not get the event.
    public func publishRequest(
        event name: String,
        data: String,
        to channels: [String],
        excluding socketID: String? = nil
    ) -> SignedRESTRequest {
        let sealed = channels.count == 1 ? channels.first.flatMap { seal(data, for: $0) } : nil
        var body: WireTable<JSONValue> = [
            "name": .string(name),
            "data": .string(sealed ?? data),
            "channels": .array(channels.map { .string($0) }),
        ]
        if let socketID { body["socket_id"] = .string(socketID) }
        return SignedRESTRequest(
            method: "POST",
            path: "/apps/\(options.application.id)/events",
            body: JSONValue.object(body).jsonText,
            application: options.application
        )
    }
}

extension SignedRESTRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method and the path. The query contains the signature.
    public var description: String { "\(method) \(pathAndQuery.prefix { $0 != "?" })" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the signature.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
