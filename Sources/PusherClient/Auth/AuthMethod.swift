import RealtimeHTTP

/// The method by which the client gets authorizations for private, encrypted and presence channels.
///
/// ```swift
/// let options = PusherClientOptions(
///     authMethod: .endpoint(
///         "https://example.com/pusher/auth",
///         headersProvider: { _ in ["Authorization": "Bearer \(try await session.token())"] }
///     )
/// )
/// ```
/// There are five cases, as in PusherSwift, so programs that switch over them compile. Static functions make further
/// methods:
/// ``endpoint(_:method:headers:parameters:timeout:headersProvider:parametersProvider:)``, ``endpoint(_:)``,
/// ``authorizer(_:)``, ``batchAuthorizer(maximumBatchSize:_:)`` and
/// ``inline(secret:encryptionMasterKey:)``. Printing a method shows no secret.
public enum AuthMethod: Sendable {
    /// A `POST` request to the URL of an endpoint of your backend. See
    /// ``endpoint(_:method:headers:parameters:timeout:headersProvider:parametersProvider:)`` for more options.
    case endpoint(authEndpoint: String)
    /// Requests that your code builds. The client reads the answers.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// Answers from your code.
    case authorizer(authorizer: any Authorizer)
    /// Signatures that the client makes with the app's secret, for tests and servers. Anyone can extract the secret
    /// from an app that contains it.
    case inline(secret: String)
    /// No authorization. The app can subscribe only to public channels, and to channels for which it passes a
    /// ``PusherAuth``.
    case noMethod
}

extension AuthMethod {
    /// Gets authorizations from an endpoint of your backend.
    ///
    /// In a `switch`, the result matches the case ``authorizer(authorizer:)``.
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
    ) -> AuthMethod {
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

    /// Gets authorizations from an endpoint of your backend, for example in batches.
    ///
    /// In a `switch`, the result matches the case ``authorizer(authorizer:)``.
    public static func endpoint(_ endpoint: AuthEndpoint) -> AuthMethod {
        .authorizer(authorizer: EndpointAuthorizer(endpoint: endpoint))
    }

    /// Gets authorizations from a closure. If the closure throws an ``AuthorizationError``, this error is the cause of
    /// the ``SubscriptionError``, and says whether the client tries again. If the closure throws another error, the
    /// cause is an ``AuthorizationError``, and the thrown error is the cause of the ``AuthorizationError``.
    ///
    /// In a `switch`, the result matches the case ``authorizer(authorizer:)``.
    public static func authorizer(
        _ authorize: @escaping @Sendable (AuthorizationRequest) async throws -> PusherAuth
    ) -> AuthMethod {
        .authorizer(authorizer: ClosureAuthorizer(body: authorize))
    }

    /// Gets authorizations for several channels at once from a closure, for example when the client reconnects.
    ///
    /// In a `switch`, the result matches the case ``authorizer(authorizer:)``.
    ///
    /// - Parameters:
    ///   - maximumBatchSize: The maximum number of channels in one call. A value below 1 counts as 1. Default: 100.
    ///   - authorize: A closure that returns a result for each channel, keyed by the channel's name. Each call is for
    ///     one connection only. The authorization of a channel without a result fails. If the closure throws an error,
    ///     all channels fail, as with ``authorizer(_:)``.
    public static func batchAuthorizer(
        maximumBatchSize: Int = 100,
        _ authorize:
            @escaping @Sendable ([AuthorizationRequest]) async throws -> [String: Result<PusherAuth, any Error>]
    ) -> AuthMethod {
        .authorizer(authorizer: BatchClosureAuthorizer(maximumBatchSize: maximumBatchSize, body: authorize))
    }

    /// Makes the signatures and the keys of encrypted channels in the client, for tests and servers.
    ///
    /// In a `switch`, the result matches the case ``authorizer(authorizer:)``.
    ///
    /// - Parameters:
    ///   - secret: The secret of the app.
    ///   - encryptionMasterKey: 32 bytes in base64. With any other value, the client cannot subscribe to encrypted
    ///     channels.
    public static func inline(secret: String, encryptionMasterKey: String) -> AuthMethod {
        .authorizer(authorizer: InlineAuthorizer(secret: secret, encryptionMasterKey: encryptionMasterKey))
    }
}

extension AuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The case, without secrets.
    public var description: String {
        switch self {
        case .endpoint(let url): "AuthMethod.endpoint(\(HTTPRequest.printable(url: url)))"
        case .authRequestBuilder(let builder): "AuthMethod.authRequestBuilder(\(type(of: builder)))"
        case .authorizer(let authorizer as any BuiltInAuthorizer): "AuthMethod.\(authorizer)"
        case .authorizer(let authorizer): "AuthMethod.authorizer(\(type(of: authorizer)))"
        case .inline: "AuthMethod.inline(…)"
        case .noMethod: "AuthMethod.noMethod"
        }
    }

    /// The case, without secrets.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
