import Foundation
import Logging
import NIOCore
import PusherProtocol
import RealtimeHTTP

/// Carrying out effects. All of this happens on the event loop, and never under the lock.
extension ClientEngine {
    func run(_ effect: Effect) {
        switch effect {
        case .open(let id, let request): open(id, request)
        case .send(let id, let envelope): write(envelope, on: id, promise: nil)
        case .sendClientEvent(let id, let item): writeClientEvent(item, on: id)
        case .sendMessage(let id, let envelope): writeMessage(envelope, on: id)
        case .close(let id, let code): loopState.value.connections[id]?.close(code: code, reason: "")
        case .abort(let id): loopState.value.connections.removeValue(forKey: id)?.abort()

        case .schedule(let id, let delay):
            loopState.value.timers.schedule(id, after: delay, on: eventLoop) { self.timerFired(id) }
        case .cancel(let id): loopState.value.timers.cancel(id)

        case .askRetryPolicy(let id, let question): ask(id, question)
        case .gatherAuthorizations: gatherAuthorizations()
        case .authorize(let questions): authorize(questions)
        case .cancelAuthorization(let authorization): cancelAuthorization(authorization)

        case .stateChanged(let old, let new):
            if old == .connected { loopState.value.payloadReaders = [:] }
            debug("connection state changed from \(old.stringValue()) to \(new.stringValue())")
            notify(keep: .states) { $0.changedConnectionState(from: old, to: new) }
        case .statusChanged(let changed):
            let status = status(changed)
            log(status)
            if case .connected = changed { logKeepAlive() }
            broadcast(status, to: statuses)
        case .report(let error): report(error)

        case .deliver(.globalListeners, let envelope): deliverServerEvent(PusherEvent(envelope), to: nil)
        case .deliver(.channel(let id), let envelope): deliverServerEvent(PusherEvent(envelope), to: channel(id))
        case .subscribed(let id, let envelope, let away): subscribed(id, envelope, away: away)
        case .subscriptionFailed(let id, let error, let envelope): subscriptionFailed(id, error, envelope)
        case .subscriptionCountChanged(let id, let count, let envelope):
            if let channel = channel(id), channel.onSubscriptionCountChanged != nil {
                dispatcher.enqueue(.call { channel.onSubscriptionCountChanged?(count) }, for: self)
            }
            announce(envelope, on: id)
        case .membersReplaced(let id, let members, let difference): membersReplaced(id, members, difference)
        case .memberAdded(let id, let member, let envelope): memberAdded(id, member, envelope)
        case .memberRemoved(let id, let member, let envelope): memberRemoved(id, member, envelope)
        case .cacheMissed(let id, let envelope): cacheMissed(id, envelope)
        case .failedToDecrypt(let id, let envelope, let error): failedToDecrypt(id, envelope, error)
        case .retired(let id):
            guard let channel = update({ $0.channels.removeValue(forKey: id) }) else { return }
            forgetPayloads(of: channel.name)
            channel.finish()
        case .signedIn(let user, let envelope): signedIn(user, envelope)
        case .signInFailed(let error, let envelope): signInFailed(error, envelope)
        case .deliverToUser(let envelope):
            for event in transformed(PusherEvent(envelope)) { deliverCounting(event, to: everyEvent, userEvents) }
        case .watchlistChanged(let event): watchlistChanged(event)

        case .released:
            everyEvent.finish()
            userEvents.finish()
            watchlistEvents.finish()
            watchlistCallbacks.finish()
            // Released outside the lock: what it owns may call back.
            _ = update { state in
                defer { state.userDataFetcher = nil }
                return state.userDataFetcher
            }
            requester.shutdown()
            statuses.finish()
            errors.finish()
            dispatcher.stop()
            mainDispatcher.stop()

        case .resume(let waiter, let outcome):
            update { $0.waiters.removeValue(forKey: waiter) }?.resume(returning: outcome)
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

    private func write(_ envelope: Envelope, on id: AttemptID, promise: EventLoopPromise<Void>?) {
        guard let connection = loopState.value.connections[id] else {
            promise?.fail(PusherClientError(.notSubscribed, "the connection was lost"))
            return
        }
        let text = envelope.jsonText
        if tracesMessages { trace("Sending", envelope, text) }
        connection.send(text, promise: promise)
        loopState.value.counts.messagesSent += 1
        loopState.value.counts.bytesSent += text.utf8.count
        loopState.value.unflushed.insert(id)
    }

    /// A message of the application's own. Nobody sends it again.
    private func writeMessage(_ envelope: Envelope, on id: AttemptID) {
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { error in
            let message = "the message \(envelope.event) was not sent: the connection was lost"
            self.step { state, _ in
                state.machine.unsentMessage()
                state.pending.append(.report(PusherClientError(.notConnected, message, cause: error)))
            }
        }
        write(envelope, on: id, promise: written)
    }

    private func writeClientEvent(_ item: ClientEventQueue.Item, on id: AttemptID) {
        let written = eventLoop.makePromise(of: Void.self)
        written.futureResult.whenComplete { result in
            var failure: PusherClientError?
            if case .failure(let error) = result {
                failure = PusherClientError(
                    .notSubscribed,
                    "the client event \(item.envelope.event) was not sent: the connection was lost",
                    channelName: item.name,
                    cause: error
                )
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
            case .authorization:
                options.authorizationRetryPolicy.delay(for: RetryContext(question, random: sharedRandom()))
            }
        step { state, now in
            state.machine.retryDecided(id, delay: delay, now: now, into: &state.pending)
        }
    }

    /// The same for all that failed together, so that they are asked for again together.
    private func sharedRandom() -> Double {
        if let number = loopState.value.sharedRandom { return number }
        let number = random()
        loopState.value.sharedRandom = number
        eventLoop.execute { self.loopState.value.sharedRandom = nil }
        return number
    }

    // MARK: Delivery

    func channel(_ id: ChannelID) -> PusherChannel? {
        read { $0.channels[id] }
    }

    private func subscribed(_ id: ChannelID, _ envelope: Envelope, away: Duration?) {
        guard let channel = channel(id) else { return }
        debug("subscribed to \(channel.name)")
        forgetPayloads(of: channel.name)
        announce(envelope, on: id)
        let name = channel.name
        notify(keep: .outcomes) { $0.subscribedToChannel(name: name) }
        guard let away else { return }
        let resubscription = Resubscription(channelName: name, away: away)
        channel.broadcast(resubscription, to: \.resubscriptions)
        if channel.onResubscribed != nil {
            dispatcher.enqueue(.call { channel.onResubscribed?(resubscription) }, keep: .outcomes, for: self)
        }
    }

    private func subscriptionFailed(_ id: ChannelID, _ error: SubscriptionError, _ envelope: Envelope) {
        let name = error.channelName
        logger.warning(
            "Subscription failed",
            metadata: ["pusher.channel": "\(name.escapingControls)", "pusher.error": "\(error)"]
        )
        debug("subscription to \(name) failed: \(error.message)")
        publish(error.clientError)
        announce(envelope, on: id, subscriptionError: error)
        notify(keep: .outcomes) { delegate in
            delegate.failedToSubscribeToChannel(
                name: name,
                response: error.response,
                data: error.body,
                error: error.bridged
            )
        }
    }

    // MARK: Reporting

    /// What somebody should know who follows nothing but the log is a warning: the first failure of an outage, and the
    /// end of all attempts.
    private func log(_ status: ConnectionStatus) {
        let text = status.description(at: clock())
        switch status {
        case .waiting(_, _, let reason) where !loopState.value.hasLoggedOutage,
            .refused(let reason), .disconnected(let reason?):
            loopState.value.hasLoggedOutage = true
            logger.warning(
                "\(connectionStateText(status))",
                metadata: ["pusher.error": "\(reason.code): \(reason.message)", "pusher.status": "\(text)"]
            )
        case .connected where loopState.value.hasLoggedOutage:
            loopState.value.hasLoggedOutage = false
            // As loud as what it puts an end to.
            let outage = read { $0.machine.connection.lastOutage } ?? .zero
            logger.warning("Connected again", metadata: ["pusher.status": "\(text)", "pusher.outage": "\(outage)"])
        case .initialized, .connecting, .connected, .unavailable, .waiting, .disconnecting, .disconnected(nil):
            logger.debug("Connection status", metadata: ["pusher.status": "\(text)"])
        }
    }

    func logKeepAlive() {
        let keepAlive = read { $0.machine.keepAlive }
        guard keepAlive.interval != loopState.value.keepAliveInterval else { return }
        loopState.value.keepAliveInterval = keepAlive.interval
        if let interval = keepAlive.interval, let silence = keepAlive.lastSilence {
            debug("pinging after \(interval) without a message: a connection was lost after \(silence) without one")
        } else {
            debug("pinging after the activity timeout only")
        }
    }

    private func connectionStateText(_ status: ConnectionStatus) -> String {
        switch status {
        case .waiting: "There is no connection; trying again"
        case .refused(let reason) where reason.code != .connectionRefused: "No connection can be made"
        case .refused: "The connection is refused"
        default: "The connection has ended"
        }
    }

    func report(_ error: PusherClientError) {
        if !warn(error) { logger.notice("Error", metadata: ["pusher.error": "\(error.code): \(error.message)"]) }
        debug("error: \(error.message)")
        publish(error)
        let reported = PusherError(error)
        notify { $0.receivedError(error: reported) }
    }

    /// Calls the delegate, if there is one by then, on the callback queue.
    func notify(
        keep retention: CallbackDispatcher.Retention = .newest,
        _ call: @escaping @Sendable (any PusherDelegate) -> Void
    ) {
        guard read({ $0.delegate.value }) != nil else { return }
        dispatcher.enqueue(
            .call {
                guard let delegate = self.read({ $0.delegate.value }) else { return }
                call(delegate)
            },
            keep: retention,
            for: self
        )
    }

    func debug(_ message: @autoclosure () -> String) {
        guard logger.logLevel <= .debug || read({ $0.delegate.value }) != nil else { return }
        let message = message().escapingControls
        logger.debug("\(message)")
        notify { $0.debugLog(message: "[PUSHER DEBUG] \(message)") }
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

extension SubscriptionError {
    /// The error for an API that knows `NSError` only.
    fileprivate var bridged: NSError {
        NSError(
            domain: "com.pusher.PusherClient",
            code: httpStatus ?? serverCode ?? 0,
            userInfo: [
                NSLocalizedDescriptionKey: description,
                NSLocalizedFailureReasonErrorKey: message,
                NSUnderlyingErrorKey: self,
            ]
        )
    }

    /// The authorization endpoint's answer.
    fileprivate var response: URLResponse? {
        guard let error = cause as? AuthorizationError, let status = error.httpStatus,
            let url = error.url.flatMap({ URL(string: $0) })
        else { return nil }
        return HTTPURLResponse(url: url, statusCode: status, httpVersion: "HTTP/1.1", headerFields: error.httpHeaders)
    }
}

extension ClientEngine {
    /// Writes a message to the log. Of those that have a signature in them, or may have, no more than is safe.
    func trace(_ what: Logger.Message, _ envelope: Envelope, _ text: String) {
        let shown: String
        switch envelope.event {
        case EventName.subscribe, EventName.signIn, EventName.signInSuccess:
            let channel = envelope.data.value?["channel"]?.string
            shown = "\(envelope.event) \(channel ?? "")"
        case EventName.error, EventName.subscriptionError:
            shown = ServerErrorMessage.presentable(text)
        default:
            shown = text
        }
        logger.trace(what, metadata: ["pusher.message": "\(shown.escapingControls)"])
    }
}
