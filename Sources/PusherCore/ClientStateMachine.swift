package import PusherProtocol

/// The state of the whole client, as a value. Calls, frames and timers are inputs, and effects are the output. The
/// value contains no clock, no socket and no closure. Equal inputs give equal effects.
///
/// Inputs are methods with the time as a parameter. These methods append effects, which the shell carries out in order.
/// The smaller machines of the connection, the subscriptions and the user get their inputs from this type only. The
/// exceptions are ``HTTPSessionStateMachine`` and ``TransportChoice``, which belong to the shell's transports.
package struct ClientStateMachine: Hashable, Sendable {
    package var configuration: CoreConfiguration
    /// The connection. It contains the ``session``, which ends with the connection.
    package internal(set) var connection = ConnectionStateMachine()
    package internal(set) var keepAlive = KeepAlive()
    package internal(set) var subscriptions = SubscriptionTable()
    var pace = SubscriptionPace()
    package internal(set) var clientEvents = ClientEventQueue()
    /// Whether the app wants the user to be signed in, on this connection and on later connections.
    package internal(set) var isSignInWanted = false
    /// All counts except the counts of ``connection``. ``statistics(now:)`` returns all counts.
    var statistics = PusherStatistics()
    var timers = Timers()
    /// Whether the shell will call ``authorizationsGathered(batchSize:now:into:)``.
    var isGathering = false
    /// The calls that wait until client events are written, with the number of unwritten events of each call.
    package internal(set) var sendWaiters: [WaiterID: Int] = [:]
    /// The socket id of the current or last connection.
    private(set) var lastSocketID: String?
    package internal(set) var connectionWaiters: [WaiterID] = []
    package internal(set) var disconnectionWaiters: [WaiterID] = []
    package internal(set) var signInWaiters: [WaiterID] = []
    /// The calls that wait until the client has disconnected or stopped.
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

    /// The state of the current connection. This property is for reading. Changes use `connection.session`, or the
    /// faster `connection.changeSession` for each frame, channel and call.
    package var session: Session? { connection.session }

    /// The sign-in on the current connection, or an idle sign-in if there is no connection.
    package var signIn: SignInStateMachine { session?.signIn ?? SignInStateMachine() }

    /// The authorizations for the current connection.
    package var authorizations: AuthorizationStateMachine { session?.authorizations ?? AuthorizationStateMachine() }

    // MARK: Connecting and disconnecting

    package mutating func connect(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        catchUp(now: now, into: &effects)
        perform(connection.connect(configuration, now: now), now: now, into: &effects)
    }

    /// Sets the number of attempts for the retry policy, and the number to which the limit applies.
    package mutating func setAttemptCounts(to count: Int) { connection.setAttemptCounts(to: count) }

    package mutating func disconnect(now: Instant, into effects: inout [Effect]) {
        perform(connection.disconnect(configuration, now: now), now: now, into: &effects)
    }

    /// Ends all work, because the app has released the client.
    package mutating func release(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        disconnect(now: now, into: &effects)
        isReleased = true
        for subscription in wantedSubscriptions {
            resumeSubscriptionWaiters(of: subscription.name, .failed(.released), into: &effects)
            dropClientEvents(of: subscription.id, into: &effects)
            countDroppedHeld(subscription.decryption?.held.count ?? 0)
            effects.append(.retired(subscription.id))
        }
        subscriptions = SubscriptionTable()
        let senders = sendWaiters.keys.sorted { $0.rawValue < $1.rawValue }
        for waiter in signInWaiters + senders { effects.append(.resume(waiter, .failed(.released))) }
        (isSignInWanted, signInWaiters, sendWaiters) = (false, [], [:])
        // After the release, no caller can wait for the closing handshake.
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

    /// Handles the server's `Retry-After`, which arrives before the end of the attempt.
    package mutating func received(retryAfter: Duration, on id: AttemptID) {
        connection.received(retryAfter: retryAfter, on: id)
    }

    /// Handles a frame that ``received(_:on:now:into:)`` does not get: a ping, a pong, a fragment of a message, or an
    /// ordinary event. The shell reports only the first of consecutive ordinary events.
    package mutating func frameReceived(on id: AttemptID, now: Instant, into effects: inout [Effect]) {
        guard connection.establishedAttempt == id else { return }
        frameReceived(now: now, into: &effects)
    }

    /// Notes that the shell has written messages to the socket.
    package mutating func wrote(on id: AttemptID, now: Instant) {
        guard connection.establishedAttempt == id else { return }
        connection.changeSession { $0.clientSilence.sent(now: now) }
    }

    package mutating func closed(
        _ id: AttemptID,
        _ closure: TransportClosure,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let wasSuspended = wasSuspended(now: now)
        if let session, session.attempt == id, !wasSuspended, closure.isUnexplained {
            keepAlive.lost(session.clientSilence, activityTimeout: session.activityTimeout, now: now)
            connection.session?.isLossUnexplained = true
        }
        if connection.isAttempting(id) { keepAlive.attemptFailed() }
        let actions = connection.closed(id, closure, wasSuspended: wasSuspended, configuration, now: now)
        perform(actions, now: now, into: &effects)
    }

    /// Returns whether the connection was silent for so long that the client's timers cannot have run.
    package func wasSuspended(now: Instant) -> Bool { session?.liveness.wasSuspended(now: now) == true }

    // MARK: Messages of the app

    /// Sends a message of the app that the machine does not interpret.
    package mutating func sendMessage(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        guard let attempt = connection.establishedAttempt else {
            countUnsentMessage()
            return effects.append(.report(.unsent(envelope)))
        }
        connection.session?.ownMessageSentAt = now
        effects.append(.sendMessage(attempt, envelope))
    }

    // MARK: Timers

    package mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) {
        guard timers.fired(id) else { return }
        switch id.purpose {
        case .attempt, .retry, .unavailable, .closing:
            if id.purpose == .attempt { keepAlive.attemptFailed() }
            perform(connection.timerFired(id.purpose, configuration, now: now), now: now, into: &effects)
        case .activity, .pong:
            perform(connection.session?.liveness.timerFired(now: now), now: now, into: &effects)
        case .keepAlive:
            keepAliveTimerFired(now: now, into: &effects)
        case .subscription:
            endOverdueSubscriptions(now: now, into: &effects)
        case .subscriptionPace:
            goOnSubscribing(now: now, into: &effects)
        case .authorization:
            guard let authorization = id.owner.map({ AuthorizationID(rawValue: $0) }) else { return }
            let actions = connection.session?.authorizations.timerFired(authorization, configuration, now: now)
            perform(actions ?? [], now: now, into: &effects)
        case .nextTry:
            guard let retry = id.owner.map({ RetryID(rawValue: $0) }) else { return }
            nextTryIsDue(retry, now: now, into: &effects)
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
        case .request(let id, let failures):
            requestRetryDecided(id, failures: failures, delay: delay, now: now, into: &effects)
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

    /// Handles overdue timers, because timers do not run while the computer is suspended. Most calls of the app begin
    /// with this method.
    mutating func catchUp(now: Instant, into effects: inout [Effect]) {
        let actions = connection.catchUp(configuration, now: now)
        if !actions.isEmpty { perform(actions, now: now, into: &effects) }
        perform(connection.changeSession { $0.liveness.catchUp(now: now) } ?? nil, now: now, into: &effects)
    }

    /// Carries out the actions that the connection's machine requests.
    mutating func perform(
        _ actions: [ConnectionStateMachine.Action],
        now: Instant,
        into effects: inout [Effect]
    ) {
        for action in actions {
            switch action {
            case .open(let id, let request): effects.append(.open(id, request))
            case .close(let id): effects.append(.close(id, .normalClosure))
            case .abort(let id, let isServerSilent): effects.append(.abort(id, isServerSilent: isServerSilent))
            case .setTimer(let purpose, let delay): timers.set(purpose, after: delay, into: &effects)
            case .cancelTimer(let purpose): timers.cancel(purpose, into: &effects)
            case .askRetryPolicy(let id, let question): effects.append(.askRetryPolicy(id, question))
            case .announceState(let old, let new): effects.append(.stateChanged(from: old, to: new))
            case .announceStatus(let status): effects.append(.statusChanged(status))
            case .report(let error): effects.append(.report(error))
            case .warnOfHastyConnects: effects.append(.hastyConnects)
            case .begin: beginSession(now: now, into: &effects)
            case .end(let session): end(session.value, now: now, into: &effects)
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
        case .ping(let timeout, let isAwaited):
            timers.cancel(.activity, into: &effects)
            timers.set(.pong, after: timeout, into: &effects)
            ping(isAwaited: isAwaited, now: now, into: &effects)
        case .drop(let timeout, let wasSuspended):
            guard let session else { return }
            let error = PusherClientError.pongTimedOut(after: timeout, wasSuspended: wasSuspended)
            // A router may drop an idle connection without notice, so the silence of the client may be the reason for
            // the loss.
            if !wasSuspended {
                keepAlive.lost(session.clientSilence, activityTimeout: session.activityTimeout, now: now)
            }
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
        if connection.isAttempting(id) { keepAlive.attemptFailed() }
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

    /// Begins the session after the handshake. Starts the timers, signs the user in, and subscribes to all wanted
    /// channels, oldest first.
    private mutating func beginSession(now: Instant, into effects: inout [Effect]) {
        guard let session else { return }
        lastSocketID = session.socketID
        timers.set(.activity, after: session.activityTimeout, into: &effects)
        if let interval = keepAlive.interval { timers.set(.keepAlive, after: interval, into: &effects) }
        beginSignIn(now: now, into: &effects)
        for name in subscriptions.wantedNames { beginSubscription(to: name, now: now, into: &effects) }
    }

    /// Ends everything that belongs to the session. Channels wait for the next session. Client events wait too, unless
    /// a call waits for them or a newer event would replace them.
    private mutating func end(_ session: Session, now: Instant, into effects: inout [Effect]) {
        var session = session
        for purpose in [TimerID.Purpose.activity, .pong, .keepAlive] { timers.cancel(purpose, into: &effects) }
        statistics.authorizations.cancelled += session.authorizations.jobs.count
        perform(session.authorizations.cancelAll(), now: now, into: &effects)
        for purpose in [TimerID.Purpose.signIn, .ownChannel] { timers.cancel(purpose, into: &effects) }
        for id in session.retries.ids { timers.cancel(.nextTry, of: id.rawValue, into: &effects) }
        loseClientEvents(into: &effects)
        losePace(session, now: now, into: &effects)
        loseSubscriptions(now: now, into: &effects)
    }
}
