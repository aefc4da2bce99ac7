package import PusherProtocol

/// What happens when an attempt fails or a connection ends (protocol clauses 6.1 and 7.3).
extension ConnectionStateMachine {
    /// The code of a `pusher:error`.
    package struct ReportedCode: Hashable, Sendable {
        package var code: Int
        package var time: Instant

        /// Whether it told of a close: it comes right before that. What came long ago was about something else.
        func announced(_ close: CloseCode?, now: Instant) -> Bool {
            close?.rawValue == code && now - time < .seconds(5)
        }
    }

    /// The end of the current attempt, or of the connection it became.
    struct Loss {
        var error: PusherClientError
        var closeCode: CloseCode?
        /// What it counts as.
        var reason: PusherStatistics.LossReason
        /// How long the connection held; nil where it never stood.
        var lifetime: Duration?

        var reaction: CloseCode.Reaction { closeCode?.reaction ?? .backOff }
    }

    /// The socket ended by itself. True where that was news.
    ///
    /// - Parameter wasSuspended: Whether it had been silent for longer than it can be while timers run.
    package mutating func closed(
        _ id: AttemptID,
        _ closure: TransportClosure,
        wasSuspended: Bool = false,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        guard currentAttempt == id else { return false }
        if case .disconnecting(_, let timer) = state {
            effects.append(.cancel(timer))
            enter(.disconnected(nil), status: .disconnected(reason: nil), into: &effects)
            return true
        }
        let isReported = session?.reportedCode?.announced(closure.code, now: now) == true
        let error = closure.error ?? .closed(closure)
        if !isReported { effects.append(.report(error)) }
        let reason = PusherStatistics.LossReason(error, closeCode: closure.code, wasSuspended: wasSuspended)
        let loss = Loss(error: error, closeCode: closure.code, reason: reason)
        lose(loss, configuration, now: now, into: &effects)
        return true
    }

    /// The client itself gives the current attempt or connection up: it is silent, or sends what it must not.
    package mutating func abandon(
        _ id: AttemptID,
        _ error: PusherClientError,
        closeCode: CloseCode? = nil,
        wasSuspended: Bool = false,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        guard currentAttempt == id else { return false }
        effects.append(.abort(id))
        effects.append(.report(error))
        let reason = PusherStatistics.LossReason(error, closeCode: closeCode, wasSuspended: wasSuspended)
        lose(
            Loss(error: error, closeCode: closeCode, reason: reason),
            configuration,
            now: now,
            into: &effects
        )
        return true
    }

    /// True where the connection, or the attempt, is over by it.
    package mutating func timerFired(
        _ id: TimerID,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        switch state {
        case .connecting(let attempt) where attempt.timer == id:
            let seconds = configuration.timeouts.connectionAttempt
            let stage =
                attempt.isOpen
                ? "the WebSocket is open, but the server sent no greeting" : "the WebSocket was not opened"
            let place = (try? target(configuration).get()).map { " to '\($0.host)', port \($0.port)," } ?? ""
            let error = PusherClientError(.connectionTimedOut, "no connection\(place) within \(seconds): \(stage)")
            return abandon(attempt.id, error, configuration, now: now, into: &effects)
        case .waiting(id, _, _):
            retry(configuration, now: now, into: &effects)
        case .disconnecting(let attempt, id):
            effects.append(.abort(attempt))
            enter(.disconnected(nil), status: .disconnected(reason: nil), into: &effects)
            return true
        case .connecting, .asking, .waiting:
            guard var outage, outage.timer == id, !outage.isUnavailable else { return false }
            outage.isUnavailable = true
            self.outage = outage
            // While the client waits, that and until when is the better news.
            if case .connecting = state { publish(.unavailable(reason: outage.lastFailure), into: &effects) }
        case .initialized, .connected, .disconnecting, .disconnected, .refused:
            break
        }
        return false
    }

    /// The policy's answer: the time to wait, or nil to give up.
    package mutating func retryDecided(
        _ question: RetryQuestionID,
        delay: Duration?,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard case .asking(question, let retry) = state else { return }
        guard var delay else {
            return giveUp("the retry policy gave up", after: retry.reason, into: &effects)
        }
        if let longest = configuration.maximumRetryDelay { delay = min(delay, longest) }
        delay = min(max(delay, retry.minimumDelay, .zero), Self.longestDelay)
        let timer = nextTimer(.retry)
        let until = now + delay
        enter(
            .waiting(timer: timer, until: until, retry),
            status: .waiting(until: until, attempt: retryCount + 1, reason: retry.reason),
            into: &effects
        )
        effects.append(.schedule(timer, after: delay))
    }

    /// The event loop's timers stand still while the computer is suspended: a wait that is over by the clock ends at
    /// the next sign of life.
    package mutating func catchUp(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        guard case .waiting(let timer, let until, _) = state, until <= now else { return }
        effects.append(.cancel(timer))
        retry(configuration, now: now, into: &effects)
    }

    /// So long that nobody waits for it, and short enough to be counted in nanoseconds.
    private static var longestDelay: Duration { .seconds(365 * 86_400) }

    // MARK: What follows a loss

    private mutating func lose(
        _ loss: Loss,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) {
        var loss = loss
        let error = loss.error
        countLoss(loss.reason, now: now)
        switch state {
        case .connecting(let attempt):
            effects.append(.cancel(attempt.timer))
        case .connected(let session):
            let lifetime = now - session.since
            loss.lifetime = lifetime
            if lifetime >= configuration.timeouts.backOffReset { resetRetryCount() }
        case .initialized, .asking, .waiting, .disconnecting, .disconnected, .refused:
            break
        }

        if let reason = refusal(of: loss, configuration) {
            endOutage(into: &effects)
            statistics.refused += 1
            enter(.refused(reason), status: .refused(reason), into: &effects)
            return
        }
        guard configuration.autoReconnect else {
            endOutage(into: &effects)
            statistics.givenUp += 1
            enter(.disconnected(error), status: .disconnected(reason: error), into: &effects)
            return
        }
        if let limit = configuration.maximumRetries, reconnectAttempts >= limit {
            let tried = limit > 0 ? "\(limit) attempts to reconnect did not succeed" : "no attempt is allowed"
            return giveUp(tried, after: error, into: &effects)
        }

        if outage == nil { beginOutage(configuration, now: now, into: &effects) }
        outage?.lastFailure = error
        if outage?.isAnnounced == false {
            outage?.isAnnounced = true
            announce(.disconnected, into: &effects)
            announce(.reconnecting, into: &effects)
        }
        reconnect(after: loss, configuration, now: now, into: &effects)
    }

    private mutating func reconnect(
        after loss: Loss,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) {
        var minimumDelay = Duration.zero
        switch loss.reaction {
        case .switchToTLS:
            mustUseTLS = true
            return retryAtOnce(after: loss, configuration, now: now, into: &effects)
        case .reconnectImmediately:
            // A server that takes clients in only to send them away again must not be met by a hot loop.
            if let lifetime = loss.lifetime, lifetime >= .seconds(1) {
                return retryAtOnce(after: loss, configuration, now: now, into: &effects)
            }
        case .backOffAtLeastOneSecond:
            minimumDelay = .seconds(1)
        case .backOff, .stop:
            break
        }
        let question = nextQuestion()
        // Until the policy has answered there is no time to give: "until now" is the truth.
        status = .waiting(until: now, attempt: retryCount + 1, reason: loss.error)
        enter(
            .asking(question, Retry(reason: loss.error, minimumDelay: minimumDelay)),
            status: nil,
            into: &effects
        )
        let context = RetryQuestion(
            retryCount: retryCount,
            elapsed: now - (outage?.since ?? now),
            reason: loss.error,
            closeCode: loss.closeCode?.rawValue,
            minimumDelay: minimumDelay
        )
        effects.append(.askRetryPolicy(question, context))
    }

    /// The wait is over as soon as it has begun: whoever follows the statuses learns the reason of every attempt.
    private mutating func retryAtOnce(
        after loss: Loss,
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) {
        publish(.waiting(until: now, attempt: retryCount + 1, reason: loss.error), into: &effects)
        retry(configuration, now: now, into: &effects)
    }

    /// Why trying again would be of no use; nil where it may be.
    private func refusal(of loss: Loss, _ configuration: CoreConfiguration) -> PusherClientError? {
        let code = loss.closeCode?.rawValue
        switch loss.reaction {
        case .stop:
            return PusherClientError(
                .connectionRefused,
                "the server refuses the connection: \(loss.error.message)",
                serverCode: code,
                cause: loss.error
            )
        case .switchToTLS:
            let usesTLS = mustUseTLS || ((try? configuration.endpoint.get())?.useTLS ?? false)
            guard usesTLS else { return nil }
            return PusherClientError(
                .connectionRefused,
                "the server demands TLS of a connection that uses it: \(loss.error.message)",
                serverCode: code,
                cause: loss.error
            )
        case .backOffAtLeastOneSecond, .reconnectImmediately, .backOff:
            return nil
        }
    }

    private mutating func giveUp(
        _ message: String,
        after reason: PusherClientError,
        into effects: inout [Effect]
    ) {
        let error = PusherClientError(
            .retriesExhausted,
            "\(message); the last failure: \(reason.message)",
            serverCode: reason.serverCode,
            cause: reason
        )
        effects.append(.report(error))
        endOutage(into: &effects)
        statistics.givenUp += 1
        enter(.disconnected(error), status: .disconnected(reason: error), into: &effects)
    }
}

extension PusherClientError {
    /// The error that a close is, where the transport had no better one.
    static func closed(_ closure: TransportClosure) -> PusherClientError {
        guard let code = closure.code else {
            return PusherClientError(.connectionClosed, "the connection was lost without a closing handshake")
        }
        let reason = closure.reason.isEmpty ? "" : ": \(closure.reason)"
        // 1005 is never on the wire: it stands for none.
        let what = code == .noStatus ? "without a code" : "with code \(code.rawValue)"
        return PusherClientError(
            .connectionClosed,
            "the server closed the connection \(what)\(reason)",
            serverCode: code.rawValue
        )
    }
}
