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
        case let authorizer as any BatchAuthorizer: max(1, authorizer.maximumBatchSize)
        default: 1
        }
    }

    /// One result for each request, in order. Never hangs the caller's thread, and ends soon when its task is cancelled.
    ///
    /// More requests than ``maximumBatchSize``, or requests of several connections, are several batches at once.
    package func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        let batches = Self.batches(of: requests, maximumSize: maximumBatchSize)
        if batches.count == 1 { return await authorize(batch: requests, in: context) }
        return await withTaskGroup { group in
            for (index, batch) in batches.enumerated() {
                group.addTask { (index, await authorize(batch: batch, in: context)) }
            }
            var results = [[Result<Authorization, AuthorizationError>]](repeating: [], count: batches.count)
            for await (index, result) in group { results[index] = result }
            return Array(results.joined())
        }
    }

    private static func batches(of requests: [AuthorizationRequest], maximumSize: Int) -> [[AuthorizationRequest]] {
        var batches: [[AuthorizationRequest]] = []
        for request in requests {
            if let last = batches.last, last.count < maximumSize, last.first?.socketID == request.socketID {
                batches[batches.count - 1].append(request)
            } else {
                batches.append([request])
            }
        }
        return batches
    }

    private func authorize(
        batch: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        guard let first = batch.first else { return [] }
        switch self {
        case .endpoint(let url):
            return await EndpointAuthorizer(endpoint: AuthEndpoint(url)).authorize(batch, in: context)
        case .authRequestBuilder(let builder):
            return [await BuiltRequest.authorize(first, with: builder, in: context)]
        case .authorizer(let authorizer as any BuiltInAuthorizer):
            return await authorizer.authorize(batch, in: context)
        case .authorizer(let authorizer as any BatchAuthorizer):
            return await Self.ask(authorizer, batch)
        case .authorizer(let authorizer as any AsyncAuthorizer):
            return [await Self.ask(authorizer, first)]
        case .authorizer(let authorizer):
            return [await Self.ask(authorizer, first)]
        case .inline(let secret):
            return await InlineAuthorizer(secret: secret, masterKey: .none).authorize(batch, in: context)
        case .noMethod:
            return batch.map { .failure(.noMethod($0)) }
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
