/// How users are signed in.
///
/// Printing a method shows no secret.
public enum UserAuthMethod: Sendable {
    /// Requests to an endpoint of your backend. Providers are called with an ``AuthEndpoint/Request`` that has no
    /// channels.
    case endpoint(AuthEndpoint)
    /// Answers from a closure. The task is cancelled when the client no longer needs the answer. It may throw an
    /// ``AuthorizationError`` to say whether another try can help.
    case authenticator(@Sendable (_ socketID: String) async throws -> UserAuth)
    /// Signatures that the client makes with the app's secret: for tests and for servers. The closure returns the
    /// user's JSON text, for example `{"id":"12345"}`.
    case inline(secret: String, user: @Sendable () async throws -> String)
    /// No method: users cannot be signed in.
    case noMethod
}

extension UserAuthMethod {
    /// Requests to an endpoint of your backend.
    ///
    /// In a pattern, it matches the case ``endpoint(_:)``.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: How long one request may take: see ``AuthEndpoint/timeout``.
    ///   - headersProvider: Returns more header fields, before each request.
    ///   - parametersProvider: Returns more parameters, before each request.
    public static func endpoint(
        _ url: String,
        method: String = "POST",
        headers: [String: String] = [:],
        parameters: AuthEndpoint.Parameters = [:],
        timeout: Duration? = nil,
        headersProvider: AuthEndpoint.HeadersProvider? = nil,
        parametersProvider: AuthEndpoint.ParametersProvider? = nil
    ) -> UserAuthMethod {
        .endpoint(
            AuthEndpoint(
                url,
                method: method,
                headers: headers,
                parameters: parameters,
                timeout: timeout,
                headersProvider: headersProvider,
                parametersProvider: parametersProvider
            )
        )
    }
}

extension UserAuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The case, with nothing secret in it.
    public var description: String {
        switch self {
        case .endpoint(let endpoint): "UserAuthMethod.endpoint(\(endpoint))"
        case .authenticator: "UserAuthMethod.authenticator(…)"
        case .inline: "UserAuthMethod.inline(…)"
        case .noMethod: "UserAuthMethod.noMethod"
        }
    }

    /// The case, with nothing secret in it.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
