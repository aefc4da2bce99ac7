/// The authorizer behind ``AuthMethod/authorizer(_:)``.
struct ClosureAuthorizer: AsyncAuthorizer {
    let body: @Sendable (AuthorizationRequest) async throws -> PusherAuth

    func authorize(_ request: AuthorizationRequest) async throws -> PusherAuth { try await body(request) }
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
                        + "To give a reason, use .authorizer { } with async code, and throw an error."
                )
            )
        }
        return .success(Authorization(auth))
    }

    static func ask(
        _ authorizer: any AsyncAuthorizer,
        _ request: AuthorizationRequest
    ) async -> Result<Authorization, AuthorizationError> {
        let subject = AuthorizationSubject.channel(request.channelName)
        let result = await UserCode.asynchronously { try await authorizer.authorize(request) }
        switch result {
        case .success(let auth): return .success(Authorization(auth))
        case .failure(let error): return .failure(.thrown(error, by: "the authorizer", subject))
        case nil: return .failure(.cancelled(subject))
        }
    }

    static func ask(
        _ authorizer: any BatchAuthorizer,
        _ requests: [AuthorizationRequest]
    ) async -> [Result<Authorization, AuthorizationError>] {
        let result = await UserCode.asynchronously { try await authorizer.authorize(requests) }
        return requests.map { request in
            let subject = AuthorizationSubject.channel(request.channelName)
            switch result {
            case .success(let results):
                switch results[request.channelName] {
                case .success(let auth): return .success(Authorization(auth))
                case .failure(let error): return .failure(.thrown(error, by: "the authorizer", subject))
                case nil: return .failure(.missing(request.channelName, in: type(of: authorizer)))
                }
            case .failure(let error): return .failure(.thrown(error, by: "the authorizer", subject))
            case nil: return .failure(.cancelled(subject))
            }
        }
    }
}

extension Authorization {
    init(_ auth: PusherAuth) {
        self.init(auth: auth.auth, data: auth.channelData, sharedSecret: auth.sharedSecret)
    }
}
