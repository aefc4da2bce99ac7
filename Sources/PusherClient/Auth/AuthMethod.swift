import RealtimeHTTP

/// How the client is authorized for private, encrypted and presence channels.
///
/// ```swift
/// let options = PusherClientOptions(
///     authMethod: .endpoint(
///         "https://example.com/pusher/auth",
///         headersProvider: { _ in ["Authorization": "Bearer \(try await session.token())"] }
///     )
/// )
/// ```
/// There are five cases, as in PusherSwift. Static functions make further methods:
/// ``endpoint(_:method:headers:parameters:timeout:headersProvider:parametersProvider:)``, ``endpoint(_:)``,
/// ``authorizer(_:)``, ``batchAuthorizer(maximumBatchSize:_:)`` and ``inline(secret:encryptionMasterKey:)``. Printing a method shows no secret.
public enum AuthMethod: Sendable {
    /// A `POST` request to the URL of an endpoint of your backend. See
    /// ``endpoint(_:method:headers:parameters:timeout:headersProvider:parametersProvider:)`` for more.
    case endpoint(authEndpoint: String)
    /// Requests that your code builds, and whose answers the client reads.
    case authRequestBuilder(authRequestBuilder: any AuthRequestBuilderProtocol)
    /// Answers from your code.
    case authorizer(authorizer: any Authorizer)
    /// Signatures that the client makes with the app's secret: for tests and for servers. Anybody who has an app that
    /// contains the secret can read it.
    case inline(secret: String)
    /// No authorization: only public channels can be subscribed, and channels that get a ``PusherAuth``.
    case noMethod
}

extension AuthMethod {
    /// Requests to an endpoint of your backend.
    ///
    /// In a pattern, it matches the case ``authorizer(authorizer:)``.
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

    /// Requests to an endpoint of your backend, for example one that takes batches.
    ///
    /// In a pattern, it matches the case ``authorizer(authorizer:)``.
    public static func endpoint(_ endpoint: AuthEndpoint) -> AuthMethod {
        .authorizer(authorizer: EndpointAuthorizer(endpoint: endpoint))
    }

    /// Answers from a closure. If it throws, that error is the cause of the subscription's error. Throw an
    /// ``AuthorizationError`` to say whether another try can help.
    ///
    /// In a pattern, it matches the case ``authorizer(authorizer:)``.
    public static func authorizer(
        _ authorize: @escaping @Sendable (AuthorizationRequest) async throws -> PusherAuth
    ) -> AuthMethod {
        .authorizer(authorizer: ClosureAuthorizer(body: authorize))
    }

    /// Answers that a closure gives for several channels at once, as they come up when the client connects again.
    ///
    /// It is the case ``authorizer(authorizer:)`` in a pattern.
    ///
    /// - Parameters:
    ///   - maximumBatchSize: The most channels of one call; less than 1 counts as 1. Default: 100.
    ///   - authorize: Returns a result for each channel of one connection, keyed by the channel's name. A channel that is missing
    ///     fails. It throws if no channel has an answer, as with ``authorizer(_:)``.
    public static func batchAuthorizer(
        maximumBatchSize: Int = 100,
        _ authorize:
            @escaping @Sendable ([AuthorizationRequest]) async throws -> [String: Result<PusherAuth, any Error>]
    ) -> AuthMethod {
        .authorizer(authorizer: BatchClosureAuthorizer(maximumBatchSize: maximumBatchSize, body: authorize))
    }

    /// Signatures made here, and the keys of encrypted channels too: for tests and for servers.
    ///
    /// In a pattern, it matches the case ``authorizer(authorizer:)``.
    ///
    /// - Parameters:
    ///   - secret: The secret of the app.
    ///   - encryptionMasterKey: 32 bytes in base64. With anything else, encrypted channels cannot be subscribed.
    public static func inline(secret: String, encryptionMasterKey: String) -> AuthMethod {
        .authorizer(authorizer: InlineAuthorizer(secret: secret, encryptionMasterKey: encryptionMasterKey))
    }
}

extension AuthMethod: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The case, with nothing secret in it.
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

    /// The case, with nothing secret in it.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
