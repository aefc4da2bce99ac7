import PusherProtocol

/// The connection from `connect()` until the client stops, with all attempts, losses and waits. There is only one
/// attempt at a time.
package struct ConnectionStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case initialized
        case connecting(Attempt)
        case connected(Box<Session>)
        /// The retry policy decides whether and when the next attempt starts.
        case asking(RetryQuestionID, Retry, since: Instant)
        case waiting(until: Instant, Retry)
        case disconnecting(AttemptID)
        case disconnected(PusherClientError?)
        case refused(PusherClientError)
    }

    package struct Attempt: Hashable, Sendable {
        package var id: AttemptID
        /// The transport; `nil` until the socket is open.
        package var transport: TransportReport?
        package var isOpen: Bool { transport != nil }
        /// The handshake, if its message arrived before the socket was open.
        package var handshake: Handshake?
        /// The shortest wait before the next attempt, by the `Retry-After` of a refused upgrade.
        package var retryAfter = Duration.zero
    }

    package struct Retry: Hashable, Sendable {
        /// The number of the next attempt.
        package var attempt: Int
        package var reason: PusherClientError
        package var minimumDelay: Duration
        /// Whether the client delays an attempt that the app wants after the client had stopped.
        package var isDelayedConnect = false
    }

    /// A period without a connection. It begins with the loss of a connection, or with the first attempt.
    struct Outage: Hashable, Sendable {
        var since: Instant
        /// Whether the client has announced the state `disconnected`. The client announces this state only once in an
        /// outage.
        var isAnnounced = false
        var isUnavailable = false
        var lastFailure: PusherClientError?
    }

    struct Failure: Hashable, Sendable {
        var time: Instant
        var error: PusherClientError
    }

    /// A ``ConnectionStatus`` with times on the machine's clock.
    package enum Status: Hashable, Sendable {
        case initialized
        case connecting
        case connected(socketID: String)
        case unavailable(reason: PusherClientError?)
        case waiting(until: Instant, attempt: Int, reason: PusherClientError)
        case refused(PusherClientError)
        case disconnecting
        case disconnected(reason: PusherClientError?)
    }

    /// A step that this machine requests from ``ClientStateMachine``.
    package enum Action: Hashable, Sendable {
        case open(AttemptID, TransportRequest)
        /// Start the closing handshake.
        case close(AttemptID)
        /// Close the socket at once.
        case abort(AttemptID, isServerSilent: Bool = false)
        case setTimer(TimerID.Purpose, after: Duration)
        case cancelTimer(TimerID.Purpose)
        case askRetryPolicy(RetryQuestionID, RetryQuestion)
        case announceState(from: ConnectionState, to: ConnectionState)
        case announceStatus(Status)
        case report(PusherClientError)
        /// Warn about calls of `connect()` right after failures.
        case warnOfHastyConnects
        /// Begin a session.
        case begin
        /// End the session, and cancel its work.
        case end(Box<Session>)
    }

    package internal(set) var state: State = .initialized
    /// The number of attempts to reconnect, for the retry policy. After a connection that has lasted long enough, the
    /// number starts again at zero.
    package internal(set) var retryCount = 0
    /// The number of attempts to reconnect since the client was last connected. The limit on attempts applies to this
    /// number.
    package private(set) var reconnectAttempts = 0
    /// Whether the server has demanded TLS.
    var mustUseTLS = false
    var outage: Outage?
    package internal(set) var statistics = PusherStatistics.Connections()
    /// The time at which the connection was lost; nil if the client is not reconnecting.
    var lostAt: Instant?
    /// The time without a connection before the current or last connection, counted from the previous loss or from the
    /// first attempt.
    package internal(set) var lastOutage: Duration?
    /// The last lost connection, use of invalid options, or attempt that failed or that `disconnect()` stopped. Nil for
    /// another server.
    var lastFailure: Failure?
    /// The number of consecutive calls of `connect()` that came right after a failure, whatever calls came between.
    var hastyConnects = 0
    /// The last status that the client has announced. While the retry policy decides, ``status`` may be newer.
    private var announcedStatus: Status = .initialized
    private var serial: UInt64 = 0

    package init() {}

    // MARK: Reading

    /// The state in PusherSwift's terms.
    package var connectionState: ConnectionState {
        switch state {
        case .initialized, .disconnected, .refused: .disconnected
        case .connecting: .connecting
        case .connected: .connected
        // An app that calls disconnect() and connect() whenever the client reconnects would do so again at once.
        case .waiting(_, let retry) where retry.isDelayedConnect: .connecting
        case .asking, .waiting: .reconnecting
        case .disconnecting: .disconnecting
        }
    }

    package var status: Status {
        switch state {
        case .initialized: .initialized
        case .connecting: outage?.isUnavailable == true ? .unavailable(reason: outage?.lastFailure) : .connecting
        case .connected(let session): .connected(socketID: session.value.socketID)
        // The time of the next attempt is unknown until the policy has answered. The status contains the time of the
        // question instead.
        case .asking(_, let retry, let since): .waiting(until: since, attempt: retry.attempt, reason: retry.reason)
        case .waiting(let until, let retry): .waiting(until: until, attempt: retry.attempt, reason: retry.reason)
        case .disconnecting: .disconnecting
        case .disconnected(let error): .disconnected(reason: error)
        case .refused(let error): .refused(error)
        }
    }

    /// The attempt whose events the machine handles.
    package var currentAttempt: AttemptID? {
        switch state {
        case .connecting(let attempt): attempt.id
        case .connected(let session): session.value.attempt
        case .disconnecting(let attempt): attempt
        case .initialized, .asking, .waiting, .disconnected, .refused: nil
        }
    }

    /// Returns whether the id belongs to an attempt that has not become a connection.
    func isAttempting(_ id: AttemptID) -> Bool {
        if case .connecting(let attempt) = state { attempt.id == id } else { false }
    }

    package var isConnected: Bool {
        if case .connected = state { true } else { false }
    }

    /// The attempt that became the current connection.
    package var establishedAttempt: AttemptID? {
        if case .connected(let session) = state { session.value.attempt } else { nil }
    }

    package var socketID: String? {
        if case .connected(let session) = state { session.value.socketID } else { nil }
    }

    /// The state of the current connection; `nil` unless the machine is in the state `.connected`. A change through
    /// this property moves the session, but does not copy it.
    package internal(set) var session: Session? {
        get {
            guard case .connected(let session) = state else { return nil }
            return session.value
        }
        _modify {
            guard case .connected(var box) = state else {
                var nothing: Session?
                yield &nothing
                return
            }
            // Without this assignment, the state would also refer to the box, and the change would copy the box.
            state = .initialized
            defer { state = .connected(box) }
            yield &box.optional
        }
    }

    /// Changes the session without moving it, so this method is faster than a change through ``session``. Returns `nil`
    /// if there is no session.
    mutating func changeSession<Result>(_ change: (inout Session) -> Result) -> Result? {
        guard case .connected(var box) = state else { return nil }
        state = .initialized
        defer { state = .connected(box) }
        return change(&box.value)
    }

    /// The reason why the client has stopped; `nil` if it has not stopped, or the app wants no connection.
    package var failure: PusherClientError? {
        switch state {
        case .disconnected(let error): error
        case .refused(let error): error
        case .initialized, .connecting, .connected, .asking, .waiting, .disconnecting: nil
        }
    }

    /// Whether the app wants a connection, even if the client makes no more attempts.
    package private(set) var isWanted = false

    // MARK: Calls

    package mutating func connect(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .connecting, .connected:
            return []
        case .initialized, .disconnected, .refused:
            setAttemptCounts(to: 0)
            if isHasty(now: now), let lastFailure {
                return warnOfHastyConnects() + wait(after: lastFailure.error, configuration, now: now)
            }
        case .asking, .waiting:
            if isHasty(now: now) { return warnOfHastyConnects() }
            countAttempt()
            if case .waiting = state { actions = [.cancelTimer(.retry)] }
        case .disconnecting(let attempt):
            setAttemptCounts(to: 0)
            actions = [.cancelTimer(.closing), .abort(attempt)]
            actions += enter(.disconnected(nil))
        }
        return actions + open(configuration, now: now)
    }

    /// The maximum number of consecutive calls of `connect()` that start an attempt right after a failure.
    static let maximumHastyConnects = 3

    /// Counts a call that would start an attempt. An app that calls `connect()` whenever it learns of a failure would
    /// make attempts without a pause. The same is true of an app that calls `disconnect()` before, so that call does not
    /// reset the count.
    ///
    /// - Returns: Whether the client must wait before the attempt.
    private mutating func isHasty(now: Instant) -> Bool {
        guard let lastFailure, now - lastFailure.time < .seconds(1) else {
            hastyConnects = 0
            return false
        }
        hastyConnects = min(hastyConnects + 1, Self.maximumHastyConnects + 2)
        return hastyConnects > Self.maximumHastyConnects
    }

    /// Warns at the first call that must wait.
    private func warnOfHastyConnects() -> [Action] {
        hastyConnects == Self.maximumHastyConnects + 1 ? [.warnOfHastyConnects] : []
    }

    /// Waits a second before the attempt that the app wants after the client has stopped.
    private mutating func wait(
        after failure: PusherClientError,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        isWanted = true
        var actions = outage == nil ? beginOutage(configuration, now: now) : []
        outage?.isAnnounced = true
        outage?.lastFailure = failure
        let delay = Duration.seconds(1)
        let retry = Retry(attempt: retryCount + 1, reason: failure, minimumDelay: delay, isDelayedConnect: true)
        actions += enter(.waiting(until: now + delay, retry))
        return actions + [.setTimer(.retry, after: delay)]
    }

    package mutating func disconnect(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        isWanted = false
        countEnd(now: now)
        var actions: [Action] = []
        switch state {
        case .disconnecting, .disconnected, .refused:
            return []
        case .initialized, .asking:
            break
        case .connecting(let attempt):
            lastFailure = Failure(time: now, error: .disconnected)
            actions = [.cancelTimer(.attempt), .abort(attempt.id)]
        case .waiting:
            actions = [.cancelTimer(.retry)]
        case .connected(let session):
            let attempt = session.value.attempt
            actions = [.close(attempt), .setTimer(.closing, after: configuration.timeouts.closing)]
            actions += enter(.disconnecting(attempt))
            return actions + [.end(session)]
        }
        actions += endOutage()
        return actions + enter(.disconnected(nil))
    }

    /// Drops the connection or the current attempt, and connects at once. The client does not wait for the server's
    /// close frame, because the socket may be dead.
    package mutating func reconnectNow(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        switch state {
        case .initialized, .asking, .waiting, .disconnecting, .disconnected, .refused:
            return connect(configuration, now: now)
        case .connecting(let attempt):
            countEnd(now: now)
            return [.cancelTimer(.attempt), .abort(attempt.id)] + open(configuration, now: now)
        case .connected(let session):
            countLoss(.replaced, now: now)
            setAttemptCounts(to: 0)
            var actions: [Action] = [.abort(session.value.attempt)]
            actions += open(configuration, announcing: [.reconnecting], now: now)
            return actions + [.end(session)]
        }
    }

    // MARK: The socket

    package mutating func opened(
        _ id: AttemptID,
        over transport: TransportReport,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard case .connecting(var attempt) = state, attempt.id == id else { return [] }
        attempt.transport = transport
        return establish(attempt, configuration, now: now)
    }

    /// Handles the server's `Retry-After`, which arrives before the end of the attempt.
    package mutating func received(retryAfter: Duration, on id: AttemptID) {
        guard case .connecting(var attempt) = state, attempt.id == id else { return }
        attempt.retryAfter = max(attempt.retryAfter, retryAfter)
        state = .connecting(attempt)
    }

    package mutating func received(
        _ handshake: Handshake,
        on id: AttemptID,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        guard case .connecting(var attempt) = state, attempt.id == id, attempt.handshake == nil else { return [] }
        attempt.handshake = handshake
        return establish(attempt, configuration, now: now)
    }

    /// Establishes the connection when the socket is open and the handshake has arrived, in either order.
    private mutating func establish(
        _ attempt: Attempt,
        _ configuration: CoreConfiguration,
        now: Instant
    ) -> [Action] {
        state = .connecting(attempt)
        guard let transport = attempt.transport, let handshake = attempt.handshake else { return [] }
        countEstablished(over: transport, now: now)
        var actions: [Action] = [.cancelTimer(.attempt)]
        actions += endOutage()
        reconnectAttempts = 0
        actions += enter(.connected(Box(Session(attempt.id, handshake, configuration, now: now))))
        return actions + [.begin]
    }

    // MARK: Attempts

    /// Starts an attempt. If the options are invalid, enters the state `.refused` instead.
    ///
    /// - Parameter states: The states that the client announces before the new state.
    mutating func open(
        _ configuration: CoreConfiguration,
        announcing states: [ConnectionState] = [],
        now: Instant
    ) -> [Action] {
        isWanted = true
        let request: TransportRequest
        switch target(configuration) {
        case .success(let target):
            request = target
        case .failure(let error):
            statistics.refused += 1
            lastFailure = Failure(time: now, error: error)
            return [.report(error)] + endOutage() + enter(.refused(error), announcing: states)
        }
        var actions: [Action] = []
        if outage == nil { actions += beginOutage(configuration, now: now) }
        serial += 1
        let id = AttemptID(rawValue: serial)
        actions += enter(.connecting(Attempt(id: id)), announcing: states)
        actions += [.setTimer(.attempt, after: configuration.timeouts.connectionAttempt), .open(id, request)]
        statistics.attempts += 1
        return actions
    }

    /// Returns the endpoint of an attempt. The endpoint uses TLS if the server has demanded TLS.
    func target(_ configuration: CoreConfiguration) -> Result<TransportRequest, PusherClientError> {
        configuration.endpoint.map { mustUseTLS ? $0.overTLS : $0 }
    }

    mutating func beginOutage(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        outage = Outage(since: now)
        return [.setTimer(.unavailable, after: configuration.timeouts.unavailable)]
    }

    mutating func endOutage() -> [Action] {
        outage = nil
        return [.cancelTimer(.unavailable)]
    }

    /// Starts the next attempt of an outage.
    mutating func retry(_ configuration: CoreConfiguration, now: Instant) -> [Action] {
        countAttempt()
        return open(configuration, now: now)
    }

    /// Forgets the server's demand for TLS, its failures, and the outage.
    package mutating func forgetServer() -> [Action] {
        mustUseTLS = false
        (lastFailure, hastyConnects) = (nil, 0)
        return endOutage()
    }

    private mutating func countAttempt() {
        retryCount += 1
        reconnectAttempts += 1
    }

    /// Sets ``retryCount`` and ``reconnectAttempts``.
    package mutating func setAttemptCounts(to count: Int) {
        // The maximum prevents an overflow in later additions.
        retryCount = min(max(count, 0), 1_000_000)
        reconnectAttempts = retryCount
    }

    mutating func nextQuestion() -> RetryQuestionID {
        serial += 1
        return .connection(serial)
    }

    // MARK: Announcing

    /// - Parameter states: The states that the client announces before the new state.
    mutating func enter(_ state: State, announcing states: [ConnectionState] = []) -> [Action] {
        var actions: [Action] = []
        var last = connectionState
        self.state = state
        for next in states + [connectionState] where next != last {
            actions.append(.announceState(from: last, to: next))
            last = next
        }
        switch state {
        // The client does not reconnect from these states. If the app connects again, a new outage begins.
        case .initialized, .disconnecting, .disconnected, .refused: lostAt = nil
        case .connecting, .connected, .waiting: break
        case .asking: return actions
        }
        return actions + announce(status)
    }

    mutating func announce(_ status: Status) -> [Action] {
        guard announcedStatus != status else { return [] }
        announcedStatus = status
        return [.announceStatus(status)]
    }
}

extension TransportRequest {
    /// The request for the same server with TLS. Port 80 becomes 443, and other ports do not change.
    fileprivate var overTLS: TransportRequest {
        var request = self
        request.useTLS = true
        if request.port == 80 { request.port = 443 }
        if request.http.port == 80 { request.http.port = 443 }
        return request
    }
}
