import PusherProtocol

/// The connection: one attempt at a time, from `connect()` to the handshake, over losses and waits, to its end.
package struct ConnectionStateMachine: Hashable, Sendable {
    package enum State: Hashable, Sendable {
        case initialized
        case connecting(Attempt)
        case connected(Session)
        /// The retry policy is being asked.
        case asking(RetryQuestionID, Retry)
        case waiting(timer: TimerID, until: Instant, Retry)
        case disconnecting(AttemptID, timer: TimerID)
        case disconnected(PusherClientError?)
        case refused(PusherClientError)
    }

    package struct Attempt: Hashable, Sendable {
        package var id: AttemptID
        package var timer: TimerID
        package var isOpen = false
        /// The handshake, where its message came before the news that the socket is open.
        package var handshake: Handshake?
    }

    package struct Session: Hashable, Sendable {
        package var attempt: AttemptID
        package var socketID: String
        package var since: Instant
        /// The last `pusher:error`: a close that it has told of is not reported a second time.
        package var reportedCode: ReportedCode?
    }

    package struct Retry: Hashable, Sendable {
        package var reason: PusherClientError
        package var minimumDelay: Duration
    }

    /// What `pusher:connection_established` said.
    package struct Handshake: Hashable, Sendable {
        package var socketID: String
        package var activityTimeout: Duration?
    }

    /// The time without a connection, from the first try or from the loss.
    struct Outage: Hashable, Sendable {
        var since: Instant
        var timer: TimerID
        /// True once the delegate was told of the loss: it is told once, however many attempts fail.
        var isAnnounced = false
        var isUnavailable = false
        var lastFailure: PusherClientError?
    }

    package internal(set) var state: State = .initialized {
        didSet {
            currentAttempt = Self.currentAttempt(in: state)
            if case .connected = state { isConnected = true } else { isConnected = false }
        }
    }
    /// The attempt whose events count. Asked for each frame, and so not worked out each time: a state takes long to
    /// copy.
    package private(set) var currentAttempt: AttemptID?
    /// Whether there is a ``session``.
    package private(set) var isConnected = false
    /// Attempts since the connection last held, but for the first: what the retry policy goes by.
    package private(set) var retryCount = 0
    /// Attempts to reconnect since the client was last connected: what the limit goes by.
    package private(set) var reconnectAttempts = 0
    package internal(set) var status: Status = .initialized
    /// True once the server has said that it takes nothing but TLS.
    var mustUseTLS = false
    var outage: Outage?
    package internal(set) var statistics = PusherStatistics.Connections()
    /// When the connection was lost that is being made again.
    var lostAt: Instant?
    /// How long there was no connection before the one that stands, or stood last: since the loss, or the first try.
    package internal(set) var lastOutage: Duration?
    private var announcedState: ConnectionState = .disconnected
    /// Not always ``status``, which is ahead of it while the retry policy is being asked.
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
        case .asking, .waiting: .reconnecting
        case .disconnecting: .disconnecting
        }
    }

    private static func currentAttempt(in state: State) -> AttemptID? {
        switch state {
        case .connecting(let attempt): attempt.id
        case .connected(let session): session.attempt
        case .disconnecting(let attempt, _): attempt
        case .initialized, .asking, .waiting, .disconnected, .refused: nil
        }
    }

    package var session: Session? {
        guard case .connected(let session) = state else { return nil }
        return session
    }

    /// Why there is no connection and none is being tried; nil where that is not so, or is the application's own wish.
    package var failure: PusherClientError? {
        switch state {
        case .disconnected(let error): error
        case .refused(let error): error
        case .initialized, .connecting, .connected, .asking, .waiting, .disconnecting: nil
        }
    }

    /// Whether the application has asked for a connection, and not for its end: also where there is none, and none is
    /// tried any more.
    package private(set) var isWanted = false

    // MARK: Calls

    package mutating func connect(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        switch state {
        case .connecting, .connected:
            return
        case .initialized, .disconnected, .refused:
            countAttempts(from: 0)
        case .asking:
            countAttempt()
        case .waiting(let timer, _, _):
            countAttempt()
            effects.append(.cancel(timer))
        case .disconnecting(let attempt, let timer):
            countAttempts(from: 0)
            effects.append(.cancel(timer))
            effects.append(.abort(attempt))
            enter(.disconnected(nil), status: .disconnected(reason: nil), into: &effects)
        }
        open(configuration, now: now, into: &effects)
    }

    package mutating func disconnect(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        isWanted = false
        countEnd(now: now)
        switch state {
        case .disconnecting, .disconnected, .refused:
            return
        case .initialized:
            break
        case .connecting(let attempt):
            effects.append(.cancel(attempt.timer))
            effects.append(.abort(attempt.id))
        case .asking:
            break
        case .waiting(let timer, _, _):
            effects.append(.cancel(timer))
        case .connected(let session):
            let timer = nextTimer(.closing)
            effects.append(.close(session.attempt, .normalClosure))
            effects.append(.schedule(timer, after: configuration.timeouts.closing))
            enter(.disconnecting(session.attempt, timer: timer), status: .disconnecting, into: &effects)
            return
        }
        endOutage(into: &effects)
        enter(.disconnected(nil), status: .disconnected(reason: nil), into: &effects)
    }

    /// Gives up the connection that stands, or the attempt that is under way, because another one is wanted at once.
    /// True where the connection stood. Its socket is likely to be dead: no answer to a close frame is waited for.
    package mutating func letGo(
        _ configuration: CoreConfiguration,
        now: Instant,
        into effects: inout [Effect]
    ) -> Bool {
        switch state {
        case .initialized, .asking, .waiting, .disconnecting, .disconnected, .refused:
            return false
        case .connecting(let attempt):
            countEnd(now: now)
            effects.append(.cancel(attempt.timer))
            effects.append(.abort(attempt.id))
            open(configuration, now: now, into: &effects)
            return false
        case .connected(let session):
            countLoss(.replaced, now: now)
            effects.append(.abort(session.attempt))
            countAttempts(from: 0)
            announce(.reconnecting, into: &effects)
            open(configuration, now: now, into: &effects)
            return true
        }
    }

    // MARK: The socket

    /// True where the client is connected now: socket and handshake came, in either order.
    package mutating func opened(_ id: AttemptID, now: Instant, into effects: inout [Effect]) -> Handshake? {
        guard case .connecting(var attempt) = state, attempt.id == id else { return nil }
        attempt.isOpen = true
        state = .connecting(attempt)
        return establish(now: now, into: &effects)
    }

    package mutating func received(
        _ handshake: Handshake,
        on id: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) -> Handshake? {
        guard case .connecting(var attempt) = state, attempt.id == id, attempt.handshake == nil else { return nil }
        attempt.handshake = handshake
        state = .connecting(attempt)
        return establish(now: now, into: &effects)
    }

    private mutating func establish(now: Instant, into effects: inout [Effect]) -> Handshake? {
        guard case .connecting(let attempt) = state, attempt.isOpen, let handshake = attempt.handshake else {
            return nil
        }
        effects.append(.cancel(attempt.timer))
        countEstablished(now: now)
        endOutage(into: &effects)
        reconnectAttempts = 0
        enter(
            .connected(Session(attempt: attempt.id, socketID: handshake.socketID, since: now)),
            status: .connected(socketID: handshake.socketID),
            into: &effects
        )
        return handshake
    }

    /// A `pusher:error` with this code was reported on the connection that stands.
    package mutating func noteReported(code: Int?, now: Instant) {
        guard case .connected(var session) = state else { return }
        session.reportedCode = code.map { ReportedCode(code: $0, time: now) }
        state = .connected(session)
    }

    // MARK: Attempts

    /// Starts an attempt.
    mutating func open(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        isWanted = true
        let request: TransportRequest
        switch target(configuration) {
        case .success(let target):
            request = target
        case .failure(let error):
            effects.append(.report(error))
            endOutage(into: &effects)
            statistics.refused += 1
            enter(.refused(error), status: .refused(error), into: &effects)
            return
        }
        if outage == nil { beginOutage(configuration, now: now, into: &effects) }
        serial += 1
        let attempt = Attempt(id: AttemptID(rawValue: serial), timer: nextTimer(.attempt))
        let isUnavailable = outage?.isUnavailable == true
        enter(
            .connecting(attempt),
            status: isUnavailable ? .unavailable(reason: outage?.lastFailure) : .connecting,
            into: &effects
        )
        effects.append(.schedule(attempt.timer, after: configuration.timeouts.connectionAttempt))
        effects.append(.open(attempt.id, request))
        statistics.attempts += 1
    }

    mutating func beginOutage(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        let timer = nextTimer(.unavailable)
        outage = Outage(since: now, timer: timer)
        effects.append(.schedule(timer, after: configuration.timeouts.unavailable))
    }

    mutating func endOutage(into effects: inout [Effect]) {
        if let outage, !outage.isUnavailable { effects.append(.cancel(outage.timer)) }
        outage = nil
    }

    /// Starts the next attempt of an outage.
    mutating func retry(_ configuration: CoreConfiguration, now: Instant, into effects: inout [Effect]) {
        countAttempt()
        open(configuration, now: now, into: &effects)
    }

    /// Nothing that was learned of one server holds for another: neither that it wants TLS nor how long it has been
    /// away.
    package mutating func forgetServer(into effects: inout [Effect]) {
        mustUseTLS = false
        endOutage(into: &effects)
    }

    mutating func resetRetryCount() { retryCount = 0 }

    private mutating func countAttempt() {
        retryCount += 1
        reconnectAttempts += 1
    }

    /// Has both counts go on from there.
    package mutating func countAttempts(from count: Int) {
        // Far from where integers end.
        retryCount = min(max(count, 0), 1_000_000)
        reconnectAttempts = retryCount
    }

    // MARK: Publishing

    mutating func enter(_ state: State, status: Status?, into effects: inout [Effect]) {
        self.state = state
        switch state {
        // Nobody tries to make it again; when the application does, that is a beginning.
        case .initialized, .disconnecting, .disconnected, .refused: lostAt = nil
        case .connecting, .connected, .asking, .waiting: break
        }
        announce(connectionState, into: &effects)
        if let status { publish(status, into: &effects) }
    }

    mutating func announce(_ state: ConnectionState, into effects: inout [Effect]) {
        guard announcedState != state else { return }
        effects.append(.stateChanged(from: announcedState, to: state))
        announcedState = state
    }

    mutating func publish(_ status: Status, into effects: inout [Effect]) {
        self.status = status
        guard announcedStatus != status else { return }
        announcedStatus = status
        effects.append(.statusChanged(status))
    }

    mutating func nextTimer(_ purpose: TimerID.Purpose) -> TimerID {
        serial += 1
        return TimerID(purpose, serial)
    }

    mutating func nextQuestion() -> RetryQuestionID {
        serial += 1
        return RetryQuestionID(.connection, serial)
    }
}
