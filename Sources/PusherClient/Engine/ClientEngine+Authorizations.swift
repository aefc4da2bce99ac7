import NIOCore

/// Asking the authorizers, which are user code, and slow.
extension ClientEngine {
    /// Called on the event loop, for an effect.
    func authorize(_ authorization: AuthorizationTry, _ question: AuthorizationQuestion) {
        switch question.subject {
        case .channel(let name):
            let request = AuthorizationRequest(socketID: question.socketID, channelName: name)
            loopState.value.authorizations.waiting.append((authorization, request))
            scheduleAsking()
        case .user:
            let (method, context, socketID) = (options.userAuthMethod, authorizationContext, question.socketID)
            let task = Task {
                let result = await method.authenticate(socketID: socketID, in: context)
                self.answer([(authorization, result)])
            }
            loopState.value.authorizations.add(task, forUser: authorization)
            began([authorization])
        }
    }

    /// In the next turn of the loop: so that what came up in this one, retries that are due among it, comes together.
    private func scheduleAsking() {
        guard !loopState.value.authorizations.isScheduled, !loopState.value.authorizations.waiting.isEmpty else {
            return
        }
        loopState.value.authorizations.isScheduled = true
        eventLoop.execute {
            self.loopState.value.authorizations.isScheduled = false
            self.askAuthorizers()
        }
    }

    private func askAuthorizers() {
        let method = options.authMethod
        let size = max(method.maximumBatchSize, 1)
        allowBatches(of: size)
        let context = authorizationContext
        var begun: [AuthorizationTry] = []
        while loopState.value.authorizations.channelCount < max(limits.authorizationsAtOnce, 1),
            !loopState.value.authorizations.waiting.isEmpty
        {
            let batch = loopState.value.authorizations.takeBatch(of: size)
            guard !batch.isEmpty else { continue }
            let task = Task {
                let results = await method.authorize(batch.map(\.request), in: context)
                self.answer(Array(zip(batch.map(\.id), results)))
            }
            loopState.value.authorizations.add(task, for: batch.map(\.id))
            begun += batch.map(\.id)
        }
        if !begun.isEmpty { began(begun) }
    }

    private func began(_ authorizations: [AuthorizationTry]) {
        step { state, _ in state.machine.authorizationsBegan(authorizations, into: &state.pending) }
    }

    /// The machine's bound is one of channels, and a request may be for many.
    private func allowBatches(of size: Int) {
        let count = options.limits.authorizationsAtOnce.clampedProduct(size)
        guard count != read({ $0.machine.configuration.authorizationsAtOnce }) else { return }
        step { state, _ in state.machine.setAuthorizationsAtOnce(count, into: &state.pending) }
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

    /// A request that is given up makes room for another.
    func cancelAuthorization(_ authorization: AuthorizationTry) {
        loopState.value.authorizations.cancel(authorization)
        scheduleAsking()
    }

    private func answer(_ answers: [(AuthorizationTry, Result<Authorization, AuthorizationError>)]) {
        eventLoop.execute {
            for (authorization, _) in answers { self.loopState.value.authorizations.answered(authorization) }
            self.step { state, now in
                for (authorization, result) in answers {
                    state.machine.authorized(authorization, result, now: now, into: &state.pending)
                }
            }
            self.scheduleAsking()
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
