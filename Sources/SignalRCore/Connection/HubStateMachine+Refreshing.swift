/// The refreshes of the authentication, which keep a connection open beyond the expiry of its token.
extension HubStateMachine {
    /// The shortest wait before a refresh, so that a server that names no useful lifetime does not cause a busy loop.
    static let minimumRefreshDelay = Duration.milliseconds(500)

    /// The state of the authentication of one connection.
    struct Authentication: Sendable {
        /// The time of the expiry; `nil` if the server named none.
        var expiry: Duration?
        /// The current refresh, and the calls that wait for it.
        var running: (id: RefreshID, waiters: [WaiterID])?
        /// The calls that arrived during the current refresh. Its token may be older than these calls, so they need
        /// another refresh.
        var queued: [WaiterID] = []
    }

    // MARK: Inputs

    /// Refreshes the authentication for a call of the app.
    package mutating func refresh(_ id: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            guard let session = machine.session else {
                let failure = HubFailure.notConnected("refreshAuthentication()", in: machine.state)
                return machine.add(.finishRefresh(id, .failure(failure)))
            }
            guard session.info.canBeRefreshed else {
                let reason =
                    "refreshAuthentication() needs an accessTokenFactory, and a negotiation that leads to no other server."
                return machine.add(.finishRefresh(id, .failure(.signalR(.invalidOperation(reason)))))
            }
            if session.authentication.running == nil {
                machine.beginRefresh(for: [id])
            } else {
                machine.session?.authentication.queued.append(id)
            }
        }
    }

    /// Handles the server's answer: the lifetime of the new token, or the reason why there is none.
    package mutating func refreshed(
        _ id: RefreshID,
        _ result: Result<Duration?, HubFailure>,
        now: Duration
    ) -> [Action] {
        collect { machine in
            guard let running = machine.session?.authentication.running, running.id == id else { return }
            machine.session?.authentication.running = nil
            switch result {
            case .success(let lifetime):
                machine.session?.authentication.expiry = lifetime.map { now + $0 }
                machine.scheduleRefresh(now: now)
                machine.add(.announceRefreshed(lifetime))
            case .failure(let failure):
                machine.scheduleNextTry(now: now)
                machine.add(.announceRefreshFailed(failure))
            }
            for waiter in running.waiters { machine.add(.finishRefresh(waiter, result)) }
            guard let queued = machine.session?.authentication.queued, !queued.isEmpty else { return }
            machine.session?.authentication.queued = []
            machine.beginRefresh(for: queued)
        }
    }

    // MARK: Transitions

    /// Begins the authentication of a new connection.
    mutating func beginAuthentication(now: Duration) {
        guard let info = session?.info, info.canBeRefreshed, let lifetime = info.tokenLifetime else { return }
        session?.authentication.expiry = now + lifetime
        scheduleRefresh(now: now)
    }

    /// Schedules the refresh before the expiry. The wait is at least half of the lifetime.
    private mutating func scheduleRefresh(now: Duration) {
        guard configuration.refreshesAuthentication, let expiry = session?.authentication.expiry else { return }
        let lifetime = expiry - now
        let delay = lifetime - min(configuration.refreshLead, lifetime / 2)
        waits[.refresh] = now + max(delay, Self.minimumRefreshDelay)
    }

    /// Schedules another refresh after a failure. Until the expiry, the old authentication is valid, so each wait is half
    /// of the remaining time.
    private mutating func scheduleNextTry(now: Duration) {
        guard configuration.refreshesAuthentication, let expiry = session?.authentication.expiry else { return }
        let delay = (expiry - now) / 2
        if delay >= Self.minimumRefreshDelay { waits[.refresh] = now + delay }
    }

    mutating func beginRefresh(for waiters: [WaiterID]) {
        guard session != nil else { return }
        waits[.refresh] = nil
        let id = RefreshID(number: nextSerial())
        session?.authentication.running = (id, waiters)
        add(.refreshAuthentication(id))
    }

    /// Ends the refreshes of a connection that has ended.
    mutating func endRefreshes(of session: Session, _ failure: HubFailure) {
        waits[.refresh] = nil
        if let running = session.authentication.running { add(.cancelRefresh(running.id)) }
        for waiter in (session.authentication.running?.waiters ?? []) + session.authentication.queued {
            add(.finishRefresh(waiter, .failure(failure)))
        }
    }
}
