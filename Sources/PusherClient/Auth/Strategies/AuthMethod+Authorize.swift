/// An authorizer that only works inside a client.
protocol BuiltInAuthorizer: Authorizer, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var maximumBatchSize: Int { get }

    /// One result for each request, in order. All are of the same connection.
    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>]
}

extension BuiltInAuthorizer {
    var maximumBatchSize: Int { 1 }

    /// Gives nil: without a client there is no way to make a request. A client does not come here.
    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    ) {
        completionHandler(nil)
    }

    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension AuthMethod {
    /// How many channels one call may authorize: 1 unless the strategy batches.
    package var maximumBatchSize: Int {
        guard case .authorizer(let authorizer) = self else { return 1 }
        return switch authorizer {
        case let authorizer as any BuiltInAuthorizer: max(1, authorizer.maximumBatchSize)
        default: 1
        }
    }

    /// One result for each request, in order. Never hangs the caller's thread, and ends soon when its task is
    /// cancelled.
    ///
    /// - Parameter requests: All of one connection, and not more than ``maximumBatchSize``: it is the caller who cuts
    ///   them into batches.
    package func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        guard let first = requests.first else { return [] }
        switch self {
        case .endpoint(let url):
            return await EndpointAuthorizer(endpoint: AuthEndpoint(url)).authorize(requests, in: context)
        case .authRequestBuilder(let builder):
            return [await BuiltRequest.authorize(first, with: builder, in: context)]
        case .authorizer(let authorizer as any BuiltInAuthorizer):
            return await authorizer.authorize(requests, in: context)
        case .authorizer(let authorizer):
            return [await Self.ask(authorizer, first)]
        case .inline(let secret):
            return await InlineAuthorizer(secret: secret, masterKey: .none).authorize(requests, in: context)
        case .noMethod:
            return requests.map { .failure(.noMethod($0)) }
        }
    }
}

extension AuthorizationError {
    fileprivate static func noMethod(_ request: AuthorizationRequest) -> AuthorizationError {
        AuthorizationError(
            .noMethod,
            "channel '\(request.channelName)' needs an authorization, and there is no way to get one: give "
                + "PusherClientOptions an authMethod, for example .endpoint(authEndpoint: \"https://…\"), or hand the "
                + "authorization over when you subscribe"
        )
    }
}
