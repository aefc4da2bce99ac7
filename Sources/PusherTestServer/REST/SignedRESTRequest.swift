import PusherEncryption
import PusherProtocol

/// A request to Pusher's REST API, signed for an application: send it with any HTTP client.
///
/// ```swift
/// let request = server.publishRequest(event: "flash", data: "{}", to: ["news"])
/// var http = URLRequest(url: URL(string: server.httpURL + request.pathAndQuery)!)
/// http.httpMethod = request.method
/// http.httpBody = Data(request.body.utf8)
/// ```
public struct SignedRESTRequest: Hashable, Sendable {
    /// The method, in upper case.
    public let method: String
    /// The path and the query with the signature in it, percent-encoded.
    public let pathAndQuery: String
    /// The body to send; empty for none.
    public let body: String

    /// Signs a request.
    ///
    /// - Parameters:
    ///   - method: for example `POST`.
    ///   - path: the path without a query, for example `/apps/1/events`.
    ///   - parameters: the query's parameters, not percent-encoded, without those of the signature.
    ///   - body: the body; empty, the default, for none.
    ///   - application: the application whose key and secret sign the request.
    ///   - timestamp: the time in whole seconds since 1970; nil, the default, takes the clock's.
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
    /// A signed request that publishes an event through this server's REST API: see ``httpURL``.
    ///
    /// - Parameters:
    ///   - name: the event's name.
    ///   - data: the data, which subscribers get byte for byte; usually JSON text. For an encrypted channel, which must
    ///     be the only one, it is encrypted with the channel's key, as a backend's library does.
    ///   - channels: the channels' names, 1 to 100. `#server-to-user-` and an id is the channel of a signed-in user.
    ///   - socketID: a connection that does not get it.
    public func publishRequest(
        event name: String,
        data: String,
        to channels: [String],
        excluding socketID: String? = nil
    ) -> SignedRESTRequest {
        let sealed = channels.count == 1 ? channels.first.flatMap { seal(data, for: $0) } : nil
        var body: [String: JSONValue] = [
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
