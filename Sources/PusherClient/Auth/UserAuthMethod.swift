/// How users are signed in.
///
/// Printing a method shows no secret.
public enum UserAuthMethod: Sendable {
    /// Requests to an endpoint of your backend. Providers are asked with an ``AuthEndpoint/Request`` that has no
    /// channels.
    case endpoint(AuthEndpoint)
    /// Answers that a closure gives. Its task is cancelled when nobody waits for the answer any more. It may throw an
    /// ``AuthorizationError`` to say whether asking again can help.
    case authenticator(@Sendable (_ socketID: String) async throws -> UserAuth)
    /// Signatures made here, with the secret of the app: for tests and for servers. The closure gives the user's JSON
    /// text, for example `{"id":"12345"}`.
    case inline(secret: String, user: @Sendable () async throws -> String)
    /// None: nobody can be signed in.
    case noMethod
}

extension UserAuthMethod {
    /// Requests to an endpoint of your backend.
    ///
    /// It is the case ``endpoint(_:)`` in a pattern.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: How long one request may take: see ``AuthEndpoint/timeout``.
    ///   - headersProvider: Gives more header fields, before each request.
    ///   - parametersProvider: Gives more parameters, before each request.
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

    /// Nothing: what `dump` shows beside the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
