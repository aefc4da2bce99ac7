import NIOCore

/// Asking the authorizers, which are your code, and slow. The machine decides when and how many.
extension ClientEngine {
    /// In another turn of the loop: what comes up in this one, retries that are due among it, comes together.
    func gatherAuthorizations() {
        eventLoop.execute { [self] in
            let batchSize = options.authMethod.maximumBatchSize
            step { state, now in
                state.machine.authorizationsGathered(batchSize: batchSize, now: now, into: &state.pending)
            }
        }
    }

    func authorize(_ questions: [AuthorizationTry: AuthorizationQuestion]) {
        let context = authorizationContext
        let tries = questions.keys.sorted()
        var requests: [AuthorizationRequest] = []
        for case let question? in tries.map({ questions[$0] }) {
            switch question.subject {
            case .channel(let name):
                requests.append(AuthorizationRequest(socketID: question.socketID, channelName: name))
            case .user:
                let (method, socketID) = (options.userAuthMethod, question.socketID)
                return ask(tries) { [await method.authenticate(socketID: socketID, in: context)] }
            }
        }
        let method = options.authMethod
        ask(tries) { [requests] in await method.authorize(requests, in: context) }
    }

    private func ask(
        _ tries: [AuthorizationTry],
        _ authorizer: @escaping @Sendable () async -> [Result<Authorization, AuthorizationError>]
    ) {
        let task = Task {
            let results = await authorizer()
            eventLoop.execute { self.answer(Array(zip(tries, results))) }
        }
        loopState.value.authorizations.add(task, for: tries)
    }

    private func answer(_ answers: [(AuthorizationTry, Result<Authorization, AuthorizationError>)]) {
        for (authorization, _) in answers { _ = loopState.value.authorizations.remove(authorization) }
        step { state, now in
            for (authorization, result) in answers {
                state.machine.authorized(authorization, result, now: now, into: &state.pending)
            }
        }
    }

    /// A request of which no answer is wanted any more is cancelled.
    func cancelAuthorization(_ authorization: AuthorizationTry) {
        loopState.value.authorizations.remove(authorization)?.cancel()
    }

    private var authorizationContext: AuthorizationContext {
        AuthorizationContext(
            key: read { $0.endpoint.key },
            requester: requester,
            pinnedHost: PinnedHost(read { $0.endpoint.server }, options.tls),
            userDataFetcher: read { $0.userDataFetcher },
            timeout: options.timeouts.authorization,
            maximumResponseSize: limits.authorizationResponseSize
        )
    }
}
