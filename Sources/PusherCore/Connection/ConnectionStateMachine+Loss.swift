package import PusherProtocol

/// Handles lost connections, failed attempts and the waits before attempts (protocol clauses 6.1 and 7.3).
extension ConnectionStateMachine {
    /// The loss of a connection, or the failure of an attempt.
    struct Loss {
        var error: PusherClientError
        var closeCode: CloseCode?
        /// The reason under which the statistics count the loss.
        var reason: PusherStatistics.LossReason
        /// The duration of the connection; nil if there was none.
        var lifetime: Duration?
        /// The shortest wait that the server's `Retry-After` allows.
        var retryAfter = Duration.zero

        var reaction: CloseCode.Reaction { closeCode?.reaction ?? .backOff }
    }

    /// Handles the close of a socket. If the client has requested the close, it is now disconnected. Otherwise, the
    /// connection is lost, or the attempt has failed.
    ///
    /// - Parameter wasSuspended: Whether the socket was silent for so long that the client's timers cannot have run.
    package mutating func closed(
        _ id: AttemptID,
        _ closure: TransportClosure,
        wasSuspended: Bool,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard currentAttempt == id else { return [] }
        if case .disconnecting = state { return [.cancelTimer(.closing)] + enter(.disconnected(nil)) }
        let isReported = session?.reportedCode?.announced(closure.code, now: now) == true
        let error = closure.error ?? .closed(closure)
        let reason = PusherStatistics.LossReason(error, closeCode: closure.code, wasSuspended: wasSuspended)
        let loss = Loss(error: error, closeCode: closure.code, reason: reason)
        return (isReported ? [] : [.report(error)]) + lose(loss, configuration, now: now)
    }

    /// Drops the current attempt or connection, because the server is silent, sends an error before its greeting, or
    /// breaks the protocol.
    package mutating func drop(
        _ id: AttemptID,
        _ error: PusherClientError,
        closeCode: CloseCode? = nil,
        wasSuspended: Bool = false,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard currentAttempt == id else { return [] }
        let reason = PusherStatistics.LossReason(error, closeCode: closeCode, wasSuspended: wasSuspended)
        let loss = Loss(error: error, closeCode: closeCode, reason: reason)
        let isServerSilent = error.code == .pongTimedOut && !wasSuspended
        return [.abort(id, isServerSilent: isServerSilent), .report(error)] + lose(loss, configuration, now: now)
    }

    package mutating func timerFired(
        _ purpose: TimerID.Purpose,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        switch (purpose, state) {
        case (.attempt, .connecting(let attempt)):
            let error = PusherClientError.connectionTimedOut(
                to: try? target(configuration).get(),
                after: configuration.timeouts.connectionAttempt,
                configuration.hasWebSocketOnly ? "the WebSocket" : "a connection",
                isOpen: attempt.isOpen,
                triesHTTP: !configuration.hasWebSocketOnly
            )
            return drop(attempt.id, error, configuration, now: now)
        case (.retry, .waiting):
            return retry(configuration, now: now)
        case (.closing, .disconnecting(let attempt)):
            return [.abort(attempt)] + enter(.disconnected(nil))
        case (.unavailable, .connecting):
            outage?.isUnavailable = true
            return announce(status)
        case (.unavailable, _):
            // Until the wait ends, the status stays `.waiting`.
            outage?.isUnavailable = true
            return []
        default:
            return []
        }
    }

    /// Handles the answer of the retry policy.
    package mutating func retryDecided(
        _ question: RetryQuestionID,
        delay: Duration?,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard case .asking(question, var retry, _) = state else { return [] }
        guard var delay else { return stop(.retriesExhausted(after: retry.reason)) }
        if let longest = configuration.maximumRetryDelay { delay = min(delay, longest) }
        delay = min(max(delay, retry.minimumDelay, .zero), Self.longestDelay)
        // The app may have set the count since the machine asked the policy, so the machine calculates the number
        // again.
        retry.attempt = retryCount + 1
        return enter(.waiting(until: now + delay, retry)) + [.setTimer(.retry, after: delay)]
    }

    /// Ends a wait whose time is over. The event loop's timers do not run while the computer is suspended, so most
    /// calls of the app begin with this method.
    package mutating func catchUp(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        guard case .waiting(let until, _) = state, until <= now else { return [] }
        return [.cancelTimer(.retry)] + retry(configuration, now: now)
    }

    /// The maximum delay. In nanoseconds, this value fits into 64 bits.
    private static var longestDelay: Duration { .seconds(365 * 86_400) }

    // MARK: After a loss

    private mutating func lose(_ loss: Loss, _ configuration: CoreConfiguration, now: Instant) -> [Action] {
        var loss = loss
        countLoss(loss.reason, now: now)
        lastFailure = Failure(time: now, error: loss.error)
        if case .connecting(let attempt) = state { loss.retryAfter = attempt.retryAfter }
        guard case .connected(let session) = state else {
            return [.cancelTimer(.attempt)] + respond(to: loss, configuration, now: now)
        }
        let lifetime = now - session.value.since
        loss.lifetime = lifetime
        if lifetime >= .seconds(1) { hastyConnects = 0 }
        // If the client loses one connection after another, the waits must grow, so the policy's count starts again only
        // after a connection that lasted. The limit on attempts counts from each connection, because the server responds.
        if lifetime >= configuration.timeouts.backOffReset { retryCount = 0 }
        return respond(to: loss, configuration, now: now) + [.end(session)]
    }

    private mutating func respond(to loss: Loss, _ configuration: CoreConfiguration, now: Instant) -> [Action] {
        let error = loss.error
        if isRefusal(loss, configuration) {
            statistics.refused += 1
            return endOutage() + enter(.refused(.connectionRefused(loss)))
        }
        guard configuration.autoReconnect else {
            statistics.givenUp += 1
            return endOutage() + enter(.disconnected(error))
        }
        if let limit = configuration.maximumRetries, reconnectAttempts >= limit {
            return stop(.retriesExhausted(limit, after: error))
        }
        var actions: [Action] = []
        if outage == nil { actions = beginOutage(configuration, now: now) }
        outage?.lastFailure = error
        let isNews = outage?.isAnnounced == false
        outage?.isAnnounced = true
        return actions
            + reconnect(after: loss, announcing: isNews ? [.disconnected, .reconnecting] : [], configuration, now: now)
    }

    private mutating func reconnect(
        after loss: Loss,
        announcing states: [ConnectionState],
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        var retry = Retry(attempt: retryCount + 1, reason: loss.error, minimumDelay: loss.retryAfter)
        switch loss.reaction {
        case .switchToTLS:
            mustUseTLS = true
            return retryAtOnce(retry, announcing: states, configuration, now: now)
        case .reconnectImmediately:
            // If a server closes each connection at once, the client must pause between attempts.
            if let lifetime = loss.lifetime, lifetime >= .seconds(1) {
                return retryAtOnce(retry, announcing: states, configuration, now: now)
            }
        case .backOffAtLeastOneSecond:
            retry.minimumDelay = max(retry.minimumDelay, .seconds(1))
        case .backOff, .refused:
            break
        }
        let id = nextQuestion()
        let question = RetryQuestion(
            retryCount: retryCount,
            elapsed: now - (outage?.since ?? now),
            reason: loss.error,
            closeCode: loss.closeCode?.rawValue,
            minimumDelay: retry.minimumDelay
        )
        return enter(.asking(id, retry, since: now), announcing: states) + [.askRetryPolicy(id, question)]
    }

    /// Starts the next attempt without a wait. The machine still announces the status `.waiting`, because this status
    /// contains the reason for the attempt.
    private mutating func retryAtOnce(
        _ retry: Retry,
        announcing states: [ConnectionState],
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        enter(.waiting(until: now, retry), announcing: states) + self.retry(configuration, now: now)
    }

    /// Returns whether the server would refuse another attempt too.
    private func isRefusal(_ loss: Loss, _ configuration: CoreConfiguration) -> Bool {
        switch loss.reaction {
        case .refused: true
        case .switchToTLS: mustUseTLS || (try? configuration.endpoint.get())?.useTLS == true
        case .backOffAtLeastOneSecond, .reconnectImmediately, .backOff: false
        }
    }

    private mutating func stop(_ error: PusherClientError) -> [Action] {
        statistics.givenUp += 1
        return [.report(error)] + endOutage() + enter(.disconnected(error))
    }
}
