/// The method by which the client authenticates a user for the sign-in.
///
/// Printing a method shows no secret.
public enum UserAuthMethod: Sendable {
    /// Requests to an endpoint of your backend. The client calls the providers with an ``AuthEndpoint/Request`` that
    /// has no channels.
    case endpoint(AuthEndpoint)
    /// Answers from a closure. The client cancels the closure's task when it no longer needs the answer. The closure
    /// may throw an ``AuthorizationError`` to say whether the client should try again.
    case authenticator(@Sendable (_ socketID: String) async throws -> UserAuth)
    /// Signatures that the client makes with the app's secret, for tests and servers. The closure returns the user's
    /// JSON text, for example `{"id":"12345"}`.
    case inline(secret: String, user: @Sendable () async throws -> String)
    /// No method: the client cannot sign users in.
    case noMethod
}

extension UserAuthMethod {
    /// Authenticates users by requests to an endpoint of your backend.
    ///
    /// In a `switch`, the result matches the case ``endpoint(_:)``.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL.
    ///   - method: The HTTP method. Default: `POST`.
    ///   - headers: Header fields of each request.
    ///   - parameters: Parameters of each request, sent in this order.
    ///   - timeout: The time limit of one request: see ``AuthEndpoint/timeout``.
    ///   - headersProvider: A closure that returns more header fields. The client calls it once for each try.
    ///   - parametersProvider: A closure that returns more parameters. The client calls it once for each try.
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
    /// The case, without secrets.
    public var description: String {
        switch self {
        case .endpoint(let endpoint): "UserAuthMethod.endpoint(\(endpoint))"
        case .authenticator: "UserAuthMethod.authenticator(…)"
        case .inline: "UserAuthMethod.inline(…)"
        case .noMethod: "UserAuthMethod.noMethod"
        }
    }

    /// The case, without secrets.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
