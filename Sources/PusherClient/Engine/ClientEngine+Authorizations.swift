import NIOCore

/// Asking the authorizers, which are user code, and slow.
extension ClientEngine {
    /// Called on the event loop, for an effect.
    func authorize(_ authorization: AuthorizationTry, _ question: AuthorizationQuestion) {
        switch question.subject {
        case .channel(let name):
            let request = AuthorizationRequest(socketID: question.socketID, channelName: name)
            loopState.value.authorizations.waiting.append((authorization, request))
            allowBatches()
        case .user:
            let (method, context, socketID) = (options.userAuthMethod, authorizationContext, question.socketID)
            let task = Task {
                let result = await method.authenticate(socketID: socketID, in: context)
                self.answer([(authorization, result)])
            }
            loopState.value.authorizations.add(task, for: [authorization])
        }
    }

    /// Asks for all that was wanted in this turn of the loop.
    func askAuthorizers() {
        let waiting = loopState.value.authorizations.waiting
        guard !waiting.isEmpty else { return }
        loopState.value.authorizations.waiting = []
        let (method, context) = (options.authMethod, authorizationContext)
        let size = max(method.maximumBatchSize, 1)
        for start in stride(from: 0, to: waiting.count, by: size) {
            let batch = Array(waiting[start..<min(start + size, waiting.count)])
            let task = Task {
                let results = await method.authorize(batch.map(\.request), in: context)
                self.answer(Array(zip(batch.map(\.id), results)))
            }
            loopState.value.authorizations.add(task, for: batch.map(\.id))
        }
    }

    /// The machine's bound is one of requests, and a request may be for many channels.
    private func allowBatches() {
        let count = options.limits.authorizationsAtOnce.clampedProduct(options.authMethod.maximumBatchSize)
        guard count != loopState.value.authorizations.atOnce ?? options.limits.authorizationsAtOnce else { return }
        loopState.value.authorizations.atOnce = count
        step { state, _ in state.machine.setAuthorizationsAtOnce(count, into: &state.pending) }
    }

    private var authorizationContext: AuthorizationContext {
        AuthorizationContext(
            key: key,
            requester: requester,
            userDataFetcher: read { $0.userDataFetcher },
            timeout: options.timeouts.authorization,
            maximumResponseSize: limits.authorizationResponseSize
        )
    }

    private func answer(_ answers: [(AuthorizationTry, Result<Authorization, AuthorizationError>)]) {
        eventLoop.execute {
            for (authorization, _) in answers { self.loopState.value.authorizations.answered(authorization) }
            self.step { state, now in
                for (authorization, result) in answers {
                    state.machine.authorized(authorization, result, now: now, into: &state.pending)
                }
            }
        }
    }
}

extension Int {
    /// The product, or the largest number where it is larger.
    fileprivate func clampedProduct(_ other: Int) -> Int {
        let (product, isTooLarge) = multipliedReportingOverflow(by: Swift.max(other, 1))
        return isTooLarge ? .max : product
    }
}
