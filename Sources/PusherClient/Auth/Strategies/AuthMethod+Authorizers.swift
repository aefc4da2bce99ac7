/// The authorizer behind ``AuthMethod/authorizer(_:)``.
struct ClosureAuthorizer: BuiltInAuthorizer {
    let body: @Sendable (AuthorizationRequest) async throws -> PusherAuth

    var description: String { "authorizer(…)" }

    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        var results: [Result<Authorization, AuthorizationError>] = []
        for request in requests {
            let answer = await UserCode.asynchronously { try await body(request) }
            results.append(.init(answer, to: request))
        }
        return results
    }
}

/// The authorizer behind ``AuthMethod/batchAuthorizer(maximumBatchSize:_:)``.
struct BatchClosureAuthorizer: BuiltInAuthorizer {
    let maximumBatchSize: Int
    let body: @Sendable ([AuthorizationRequest]) async throws -> [String: Result<PusherAuth, any Error>]

    var description: String { "batchAuthorizer(…)" }

    func authorize(
        _ requests: [AuthorizationRequest],
        in context: AuthorizationContext
    ) async -> [Result<Authorization, AuthorizationError>] {
        let answers = await UserCode.asynchronously { try await body(requests) }
        return requests.map { request in
            let name = request.channelName
            return .init(answers?.flatMap { $0[name] ?? .failure(AuthorizationError.missing(name)) }, to: request)
        }
    }
}

extension Result<Authorization, AuthorizationError> {
    /// - Parameter answer: The result of the app's closure; nil if the task was cancelled.
    fileprivate init(_ answer: Result<PusherAuth, any Error>?, to request: AuthorizationRequest) {
        let subject = AuthorizationSubject.channel(request.channelName)
        self =
            switch answer {
            case .success(let auth): .success(Authorization(auth))
            case .failure(let error): .failure(.thrown(error, by: "the authorizer", subject))
            case nil: .failure(.cancelled(subject))
            }
    }
}

extension AuthorizationError {
    /// Makes the error for an authorizer that gave no result for a channel of a batch.
    fileprivate static func missing(_ channelName: String) -> AuthorizationError {
        AuthorizationError(
            .authorizerFailed,
            "Authorization of channel '\(channelName)' failed: the authorizer gave no result for it. "
                + "The answer to a batch must have a result for each channel, keyed by the channel's name."
        )
    }
}

extension AuthMethod {
    static func ask(
        _ authorizer: any Authorizer,
        _ request: AuthorizationRequest
    ) async -> Result<Authorization, AuthorizationError> {
        let answer = FirstAnswer<PusherAuth?>()
        UserCode.onQueue {
            authorizer.fetchAuthValue(socketID: request.socketID, channelName: request.channelName) { auth in
                answer.give(auth)
            }
        }
        guard let auth = await answer.value() else { return .failure(.cancelled(.channel(request.channelName))) }
        guard let auth else {
            return .failure(
                AuthorizationError(
                    .authorizerFailed,
                    "Authorization of channel '\(request.channelName)' failed: the authorizer gave nil. "
                        + "To give a reason, use .authorizer { } with async code, and throw an error.",
                    recovery: .retry(after: .zero)
                )
            )
        }
        return .success(Authorization(auth))
    }
}

extension Authorization {
    init(_ auth: PusherAuth) {
        self.init(auth: auth.auth, data: auth.channelData, sharedSecret: auth.sharedSecret)
    }
}
