import Foundation
import Logging
import NIOCore
import PusherEncryption
import PusherProtocol
import RealtimeHTTP

/// Carries out effects, on the event loop and never under the lock.
extension ClientEngine {
    func run(_ effect: Effect) {
        switch effect {
        case .open(let id, let request): open(id, request)
        case .send(let id, let envelope): write(envelope, on: id, promise: nil)
        case .sendClientEvent(let id, let item): writeClientEvent(item, on: id)
        case .sendMessage(let id, let envelope): writeMessage(envelope, on: id)
        case .close(let id, let code): loopState.value.connections[id]?.close(code: code, reason: "")
        case .abort(let id, let isServerSilent):
            let connection = connectionEnded(id)
            if isServerSilent { connection?.noteLoss() }
            connection?.abort()

        case .schedule(let id, let delay):
            loopState.value.timers.schedule(id, after: delay, on: eventLoop) { self.timerFired($0) }
        case .cancel(let id): loopState.value.timers.cancel(id)

        case .askRetryPolicy(let id, let question): ask(id, question)
        case .gatherAuthorizations: gatherAuthorizations()
        case .authorize(let questions): authorize(questions)
        case .cancelAuthorization(let authorization): cancelAuthorization(authorization)
        case .openBox(let id, let name, let sealed): open(sealed, id, on: name)

        case .stateChanged(let old, let new):
            if old == .connected { forgetPayloads { _ in true } }
            // The network that ended the connection may also have cut the idle HTTP connections, without notice. The next
            // authorization would wait on a dead connection. After `disconnect()`, the app wants no connection at all.
            if old == .connected { requester.retireConnections() }
            debug("connection state changed from \(old.stringValue()) to \(new.stringValue())")
            notify(keep: .states) { $0.changedConnectionState(from: old, to: new) }
        case .statusChanged(let changed):
            let status = status(changed)
            log(status)
            if case .connected = changed {
                noteEstablished()
                logKeepAlive()
                logTransport()
            }
            broadcast(status, to: statuses)
            restartCountdowns(for: status)
        case .report(let error): report(error)
        case .hastyConnects: warnOfHastyConnects()

        case .deliver(let recipient, let envelope):
            let event = PusherEvent(envelope, decoding: decoding)
            deliverServerEvent(event, to: recipients(of: event, clientListeners, channel(recipient)?.listeners))
        case .subscribed(let id, let envelope, let away): subscribed(id, envelope, away: away)
        case .subscriptionFailed(let id, let error, let envelope): subscriptionFailed(id, error, envelope)
        case .subscriptionCountChanged(let id, let count, let envelope):
            let channel = channel(id)
            if let channel, channel.onSubscriptionCountChanged != nil {
                dispatcher.enqueue(isEvent: true, for: self) { channel.onSubscriptionCountChanged?(count) }
            }
            announce(envelope, on: channel)
        case .membersReplaced(let id, let members, let difference): membersReplaced(id, members, difference)
        case .memberAdded(let id, let member, let envelope): memberAdded(id, member, envelope)
        case .memberRemoved(let id, let member, let envelope): memberRemoved(id, member, envelope)
        case .cacheMissed(let id, let envelope): cacheMissed(id, envelope)
        case .failedToDecrypt(let id, let envelope, let error): failedToDecrypt(id, envelope, error)
        case .retired(let id):
            guard let channel = update({ $0.channels.removeValue(forKey: id) }) else { return }
            forgetPayloads { $0 == channel.name }
            loopState.value.routes.removeAll()
            channel.retire()
        case .signedIn(let user, let envelope): signedIn(user, envelope)
        case .signInFailed(let error, let envelope): signInFailed(error, envelope)
        case .deliverToUser(let envelope):
            let event = PusherEvent(envelope, decoding: decoding)
            deliverServerEvent(event, to: recipients(of: event, clientListeners, userListeners))
        case .watchlistChanged(let event): watchlistChanged(event)

        case .epochBegan(let connection, let user):
            // The collected callbacks belong to the earlier epoch.
            listenerContext.forEachDispatcher { $0.submit(for: self) }
            let epoch = CallbackEpochs.Epoch(connection: connection, user: user)
            if listenerContext.epochs.deliver(epoch) { dropHeldEvents() }
        case .released:
            clientListeners.finish()
            userListeners.finish()
            watchlistEvents.finish()
            watchlistCallbacks.finish()
            // Release the old closure outside the lock, because releasing it may call the client.
            _ = update { state in
                defer { state.userDataFetcher = nil }
                return state.userDataFetcher
            }
            shutDownRequesterIfUnused()
            statuses.finish()
            errors.finish()
            listenerContext.forEachDispatcher { $0.stop() }
            buffers.stop()

        case .resume(let waiter, let outcome):
            update { $0.takeWaiter(waiter) }?.resume(returning: outcome)
        }
    }

    /// Shuts the requester down after the release, when no connection needs it. A connection that closes over HTTP still
    /// sends its last messages.
    func shutDownRequesterIfUnused() {
        if loopState.value.connections.isEmpty, read({ $0.machine.isReleased }) { requester.shutdown() }
    }

    private func channel(_ recipient: ClientStateMachine.Recipient) -> PusherChannel? {
        switch recipient {
        case .globalListeners: nil
        case .channel(let id): channel(id)
        }
    }

    // MARK: Socket

    private func open(_ id: AttemptID, _ request: TransportRequest) {
        let proxy = try? proxies.proxy(
            forHost: request.host,
            port: request.port,
            useTLS: request.useTLS,
            tls: options.tls
        )
        let way = (request.useTLS ? " over TLS" : "") + (proxy.map { " through the proxy \($0.host):\($0.port)" } ?? "")
        debug("connecting to \(request.host):\(request.port)\(way)")
        loopState.value.connections[id] = transport.open(request, on: eventLoop, receive: makeReceiver(id))
    }

    private func noteEstablished() {
        // The client may have lost the connection meanwhile.
        guard let id = read({ $0.machine.connection.establishedAttempt }) else { return }
        loopState.value.connections[id]?.noteEstablished()
    }

    private func write(_ envelope: Envelope, on id: AttemptID, promise: EventLoopPromise<Void>?) {
        guard let connection = loopState.value.connections[id] else {
            promise?.fail(PusherClientError.messageNotSent)
            return
        }
        let text = envelope.jsonText
        if tracesMessages { trace("Sending", envelope, text) }
        connection.send(text, promise: promise)
        loopState.value.counts.messagesSent += 1
        loopState.value.counts.bytesSent += text.utf8.count
        loopState.value.unflushed.insert(id)
    }

    /// Writes a message that the app sends. If the connection is lost, the client does not send the message again.
    private func writeMessage(_ envelope: Envelope, on id: AttemptID) {
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { error in
            let failure = PusherClientError.unwritten("Message", envelope, error, .notConnected)
            self.step { state, _ in
                state.machine.countUnsentMessage()
                state.pending.append(.report(failure))
            }
        }
        write(envelope, on: id, promise: written)
    }

    private func writeClientEvent(_ item: ClientEventQueue.Item, on id: AttemptID) {
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { result in
            var failure: PusherClientError?
            if case .failure(let error) = result {
                failure = .unwritten("Client event", item.envelope, error, .notSubscribed)
            }
            self.step { state, now in
                state.machine.clientEventWritten(item, on: id, error: failure, now: now, into: &state.pending)
            }
        }
        write(item.envelope, on: id, promise: written)
    }

    private func ask(_ id: RetryQuestionID, _ question: RetryQuestion) {
        let delay =
            switch id {
            case .connection: options.retryPolicy.delay(for: RetryContext(question, random: random()))
            case .request:
                options.requestRetryPolicy.delay(for: RetryContext(question, random: sharedRandom()))
            }
        if case .request = id, let delay {
            let wait = max(delay, question.minimumDelay, .zero)
            debug("\(question.reason.message) Trying again in \(wait.inWords).")
        }
        step { state, now in
            state.machine.retryDecided(id, delay: delay, now: now, into: &state.pending)
        }
    }

    /// Returns one number for all requests that failed together, so that the client also retries them together.
    private func sharedRandom() -> Double {
        if let number = loopState.value.sharedRandom { return number }
        let number = random()
        loopState.value.sharedRandom = number
        eventLoop.execute { self.loopState.value.sharedRandom = nil }
        return number
    }

    private func open(_ sealed: SealedBox, _ id: BoxID, on name: String) {
        var key = sealed.key.copyBytes()
        let message = options.secretBox?.open(sealed.box, nonce: sealed.nonce, key: key)
        key.wipe()
        step { state, now in
            state.machine.boxOpened(id, on: name, message, now: now, into: &state.pending)
        }
    }

    // MARK: Authorizers

    /// Gathers the authorizations in another turn of the loop. So the client requests all authorizations of this turn,
    /// including due retries, together.
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
        // The app can have changed the method since the machine read its batch size.
        let method = options.authMethod
        let batchSize = method.maximumBatchSize
        for start in stride(from: 0, to: tries.count, by: batchSize) {
            let batch = start..<min(start + batchSize, tries.count)
            let batchRequests = Array(requests[batch])
            ask(Array(tries[batch])) { await method.authorize(batchRequests, in: context) }
        }
    }

    private func ask(
        _ tries: [AuthorizationTry],
        _ authorizer: @escaping @Sendable () async -> [Result<Authorization, AuthorizationError>]
    ) {
        let piece = work?.makePiece("an authorization")
        let task = Task {
            let results = if let piece { await piece(authorizer) } else { await authorizer() }
            eventLoop.execute { self.answer(Array(zip(tries, results))) }
            piece?.finish()
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

    /// Cancels a request if none of its answers is needed any more.
    func cancelAuthorization(_ authorization: AuthorizationTry) {
        loopState.value.authorizations.remove(authorization)?.cancel()
    }

    private var authorizationContext: AuthorizationContext {
        AuthorizationContext(
            key: read { $0.endpoint.key },
            requester: requester,
            userDataFetcher: read { $0.userDataFetcher },
            timeout: options.timeouts.authorization,
            maximumResponseSize: limits.authorizationResponseSize
        )
    }
}

extension RetryContext {
    fileprivate init(_ question: RetryQuestion, random: Double) {
        self.init(
            retryCount: question.retryCount,
            elapsed: question.elapsed,
            reason: question.reason,
            closeCode: question.closeCode,
            minimumDelay: question.minimumDelay,
            random: random
        )
    }
}

extension PusherClientError {
    /// - Parameters:
    ///   - kind: The name of this kind of message, for the error's text.
    ///   - reason: The error with which the message's promise failed.
    ///   - code: The code for a message that was not sent.
    fileprivate static func unwritten(
        _ kind: String,
        _ envelope: Envelope,
        _ reason: any Error,
        _ code: Code
    ) -> Self {
        let name = "\(kind) \(envelope.event.quoted)"
        guard let unanswered = reason as? UnansweredMessage else {
            let message = "\(name) not sent: the connection was lost."
            return Self(code, message, channelName: envelope.channel, cause: reason)
        }
        return Self(
            .unanswered,
            "\(name) may not have arrived: the connection was lost before the server confirmed the request.",
            channelName: envelope.channel,
            cause: unanswered.reason
        )
    }
}
