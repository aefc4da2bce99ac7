/// An authorizer that works only inside a client.
protocol BuiltInAuthorizer: Authorizer, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    var maximumBatchSize: Int { get }

    /// Returns one result for each request, in order. All requests belong to one connection.
    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>]
}

extension BuiltInAuthorizer {
    var maximumBatchSize: Int { 1 }

    /// Passes nil to the handler, because requests need a client. The client does not call this method.
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
    /// The maximum number of channels that one call may authorize: 1 unless the strategy supports batches.
    package var maximumBatchSize: Int {
        guard case .authorizer(let authorizer) = self else { return 1 }
        return switch authorizer {
        case let authorizer as any BuiltInAuthorizer: max(1, authorizer.maximumBatchSize)
        default: 1
        }
    }

    /// Returns one result for each request, in order. The method never blocks the caller's thread, and returns soon
    /// after its task is cancelled.
    ///
    /// - Parameter requests: At most ``maximumBatchSize`` requests, all for one connection. The caller splits a longer
    ///   list into batches.
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
            "Authorization of channel '\(request.channelName)' failed: there is no authMethod. Set authMethod in the options, "
                + "for example .endpoint(\"https://…\"), or pass the signature when you subscribe."
        )
    }
}
