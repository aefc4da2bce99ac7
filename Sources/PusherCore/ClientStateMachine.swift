import PusherProtocol

/// The whole client as a value: calls, frames and timers go in, effects come out. It holds no clock, no socket, no
/// closure; the same inputs give the same effects.
///
/// The shell gives inputs to this type only. Inputs are methods: they take the time, and append to the effects that the
/// shell carries out in order.
package struct ClientStateMachine: Hashable, Sendable {
    package var configuration: CoreConfiguration
    /// Contains the ``session``, and with it everything that ends with the connection.
    package internal(set) var connection = ConnectionStateMachine()
    package internal(set) var keepAlive = KeepAlive()
    package internal(set) var subscriptions = SubscriptionTable()
    var pace = SubscriptionPace()
    package internal(set) var clientEvents = ClientEventQueue()
    /// Whether the app wants the user signed in, on this connection and on later ones.
    package internal(set) var isSignInWanted = false
    /// Without the counts of ``connection``: ``statistics(now:)`` has all.
    var statistics = PusherStatistics()
    var timers = Timers()
    /// Whether the shell has been asked to call ``authorizationsGathered(batchSize:now:into:)``.
    var isGathering = false
    /// Calls that wait for client events to be written, and how many each waits for.
    package internal(set) var sendWaiters: [WaiterID: Int] = [:]
    /// The socket id of the current connection, or of the last one.
    private(set) var lastSocketID: String?
    package internal(set) var connectionWaiters: [WaiterID] = []
    package internal(set) var disconnectionWaiters: [WaiterID] = []
    package internal(set) var signInWaiters: [WaiterID] = []
    /// Waiters for the end of the connection for good.
    package internal(set) var endWaiters: [WaiterID] = []
    package private(set) var isReleased = false
    private var serial: UInt64 = 0

    package init(configuration: CoreConfiguration) {
        self.configuration = configuration
    }

    // MARK: Reading

    package var connectionState: ConnectionState { connection.connectionState }
    package var status: ConnectionStateMachine.Status { connection.status }
    package var socketID: String? { connection.socketID }

    /// The state of the current connection. To pass ``configuration`` to a machine in it, use `connection.session`,
    /// because this property accesses all of `self`.
    package internal(set) var session: Session? {
        get { connection.session }
        _modify { yield &connection.session }
    }

    /// The sign-in on the current connection; an idle one without a connection.
    package var signIn: SignInStateMachine { session?.signIn ?? SignInStateMachine() }

    /// The authorizations for the current connection.
    package var authorizations: AuthorizationStateMachine { session?.authorizations ?? AuthorizationStateMachine() }

    // MARK: Connecting and disconnecting

    package mutating func connect(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        catchUp(now: now, into: &effects)
        perform(connection.connect(configuration, now: now), now: now, into: &effects)
    }

    /// Sets the counts that the retry policy and the limit use.
    package mutating func setAttemptCounts(to count: Int) { connection.setAttemptCounts(to: count) }

    package mutating func disconnect(now: Instant, into effects: inout [Effect]) {
        perform(connection.disconnect(configuration, now: now), now: now, into: &effects)
    }

    /// Ends everything for good, because the app has released the client.
    package mutating func release(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        disconnect(now: now, into: &effects)
        isReleased = true
        for subscription in wantedSubscriptions {
            failWaiters(of: subscription.name, .failed(.released), into: &effects)
            dropClientEvents(of: subscription.id, into: &effects)
            countDroppedHeld(subscription.decryption?.held.count ?? 0)
            effects.append(.retired(subscription.id))
        }
        subscriptions = SubscriptionTable()
        let senders = sendWaiters.keys.sorted { $0.rawValue < $1.rawValue }
        for waiter in signInWaiters + senders { effects.append(.resume(waiter, .failed(.released))) }
        (isSignInWanted, signInWaiters, sendWaiters) = (false, [], [:])
        // No caller is left that could wait for the closing handshake.
        for waiter in disconnectionWaiters + endWaiters { effects.append(.resume(waiter, .done)) }
        disconnectionWaiters = []
        endWaiters = []
        effects.append(.released)
    }

    // MARK: The socket

    package mutating func opened(
        _ id: AttemptID,
        over transport: TransportReport = TransportReport(.webSocket),
        now: Instant,
        into effects: inout [Effect]
    ) {
        perform(connection.opened(id, over: transport, configuration, now: now), now: now, into: &effects)
    }

    /// Handles a frame that ``received(_:on:now:into:)`` does not get: a ping, a pong, part of a longer message, or an
    /// ordinary event. Of consecutive ordinary events, the shell reports the first.
    package mutating func activity(on id: AttemptID, now: Instant, into effects: inout [Effect]) {
        guard connection.establishedAttempt == id else { return }
        frameCame(now: now, into: &effects)
    }

    /// Handles that messages were written to the socket.
    package mutating func wrote(on id: AttemptID, now: Instant) {
        guard connection.establishedAttempt == id else { return }
        session?.silence.sent(now: now)
    }

    package mutating func closed(
        _ id: AttemptID,
        _ closure: TransportClosure,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let wasSuspended = session?.liveness.wasSuspended(now: now) == true
        if let session, session.attempt == id, !wasSuspended, closure.isUnexplained {
            keepAlive.lost(session.silence, activityTimeout: session.activityTimeout, now: now)
        }
        let actions = connection.closed(id, closure, wasSuspended: wasSuspended, configuration, now: now)
        perform(actions, now: now, into: &effects)
    }

    // MARK: Timers

    package mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) {
        guard timers.fired(id) else { return }
        switch id.purpose {
        case .attempt, .retry, .unavailable, .closing:
            perform(connection.timerFired(id.purpose, configuration, now: now), now: now, into: &effects)
        case .activity, .pong:
            perform(session?.liveness.timerFired(now: now), now: now, into: &effects)
        case .keepAlive:
            keepAliveTimerFired(now: now, into: &effects)
        case .subscription:
            endOverdueSubscriptions(now: now, into: &effects)
        case .subscriptionPace:
            goOnSubscribing(now: now, into: &effects)
        case .authorization:
            guard let authorization = id.authorization else { return }
            let actions = connection.session?.authorizations.timerFired(authorization, configuration, now: now)
            perform(actions ?? [], now: now, into: &effects)
        case .signIn:
            signInTimedOut(now: now, into: &effects)
        case .ownChannel:
            ownChannelTimedOut(now: now, into: &effects)
        case .clientEvents:
            sendClientEvents(now: now, into: &effects)
        }
    }

    package mutating func retryDecided(
        _ question: RetryQuestionID,
        delay: Duration?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch question {
        case .connection:
            let actions = connection.retryDecided(question, delay: delay, configuration, now: now)
            perform(actions, now: now, into: &effects)
        case .authorization(let failed):
            let actions = connection.session?.authorizations.retryDecided(failed, delay: delay, configuration, now: now)
            perform(actions ?? [], now: now, into: &effects)
        }
    }

    // MARK: Shared

    mutating func nextSerial() -> UInt64 {
        serial += 1
        return serial
    }

    /// Sends a message, if there is a connection.
    func send(_ envelope: Envelope, into effects: inout [Effect]) {
        if let attempt = connection.establishedAttempt { effects.append(.send(attempt, envelope)) }
    }

    /// Makes up for timers that did not run while the computer was suspended.
    mutating func catchUp(now: Instant, into effects: inout [Effect]) {
        let actions = connection.catchUp(configuration, now: now)
        if !actions.isEmpty { perform(actions, now: now, into: &effects) }
        perform(session?.liveness.catchUp(now: now), now: now, into: &effects)
    }

    /// Carries out the parts of connection handling that no smaller machine does.
    mutating func perform(
        _ actions: [ConnectionStateMachine.Action],
        now: Instant,
        into effects: inout [Effect]
    ) {
        for action in actions {
            switch action {
            case .open(let id, let request): effects.append(.open(id, request))
            case .close(let id): effects.append(.close(id, .normalClosure))
            case .abort(let id, let isSilent): effects.append(.abort(id, isSilent: isSilent))
            case .setTimer(let purpose, let delay): timers.set(purpose, after: delay, into: &effects)
            case .cancelTimer(let purpose): timers.cancel(purpose, into: &effects)
            case .askRetryPolicy(let id, let question): effects.append(.askRetryPolicy(id, question))
            case .announceState(let old, let new): effects.append(.stateChanged(from: old, to: new))
            case .announceStatus(let status): effects.append(.statusChanged(status))
            case .report(let error): effects.append(.report(error))
            case .begin: beginSession(now: now, into: &effects)
            case .end(let session): end(session, now: now, into: &effects)
            }
        }
        settleConnectionWaiters(into: &effects)
    }

    mutating func perform(_ action: LivenessStateMachine.Action?, now: Instant, into effects: inout [Effect]) {
        switch action {
        case nil: break
        case .listen(let time):
            timers.cancel(.pong, into: &effects)
            timers.set(.activity, after: time, into: &effects)
        case .ping(let timeout):
            timers.cancel(.activity, into: &effects)
            timers.set(.pong, after: timeout, into: &effects)
            ping(now: now, into: &effects)
        case .drop(let timeout, let wasSuspended):
            guard let session else { return }
            let error = PusherClientError.pongTimedOut(after: timeout, wasSuspended: wasSuspended)
            // A router that drops idle connections tells neither side, and later messages are lost.
            if !wasSuspended { keepAlive.lost(session.silence, activityTimeout: session.activityTimeout, now: now) }
            drop(session.attempt, error, wasSuspended: wasSuspended, now: now, into: &effects)
        }
    }

    mutating func drop(
        _ id: AttemptID,
        _ error: PusherClientError,
        closeCode: CloseCode? = nil,
        wasSuspended: Bool = false,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let actions = connection.drop(
            id,
            error,
            closeCode: closeCode,
            wasSuspended: wasSuspended,
            configuration,
            now: now
        )
        perform(actions, now: now, into: &effects)
    }

    /// The handshake is complete: watches the server, and subscribes to all wanted channels, oldest first.
    private mutating func beginSession(now: Instant, into effects: inout [Effect]) {
        guard let session else { return }
        lastSocketID = session.socketID
        timers.set(.activity, after: session.activityTimeout, into: &effects)
        if let interval = keepAlive.interval { timers.set(.keepAlive, after: interval, into: &effects) }
        beginSignIn(now: now, into: &effects)
        for name in subscriptions.wantedNames { beginSubscription(to: name, now: now, into: &effects) }
    }

    /// Ends everything that belongs to the session. Channels and client events wait for the next one.
    private mutating func end(_ session: Session, now: Instant, into effects: inout [Effect]) {
        var session = session
        for purpose in [TimerID.Purpose.activity, .pong, .keepAlive] { timers.cancel(purpose, into: &effects) }
        statistics.authorizations.cancelled += session.authorizations.jobs.count
        perform(session.authorizations.cancelAll(), now: now, into: &effects)
        for purpose in [TimerID.Purpose.signIn, .ownChannel] { timers.cancel(purpose, into: &effects) }
        loseClientEvents(into: &effects)
        losePace(session.requests, now: now, into: &effects)
        loseSubscriptions(now: now, into: &effects)
    }
}
