import PusherProtocol

/// The whole client as a value: calls, frames and timers go in, effects come out. It holds no clock, no socket, no
/// closure; the same inputs give the same effects.
///
/// This is the only type of the core that the shell sees. Inputs are methods, in the order in which the protocol meets
/// them; every one takes the time, and appends to the effects that the shell carries out in order.
package struct ClientStateMachine: Hashable, Sendable {
    package var configuration: CoreConfiguration
    package internal(set) var connection = ConnectionStateMachine()
    package internal(set) var liveness = LivenessStateMachine()
    package internal(set) var keepAlive = KeepAlive()
    package internal(set) var subscriptions = SubscriptionTable()
    package internal(set) var authorizations = AuthorizationStateMachine()
    package internal(set) var signIn = SignInStateMachine()
    package internal(set) var clientEvents = ClientEventQueue()
    /// But for what the smaller machines count themselves: ``statistics(now:)`` has it all.
    var statistics = PusherStatistics()
    var pingTimer = PingTimer()
    /// Calls that wait for client events to be written, and how many each waits for.
    package internal(set) var sendWaiters: [WaiterID: Int] = [:]
    /// That of the connection that stands, or stood last.
    private(set) var lastSocketID: String?
    /// One timer for all subscriptions that are under way: it is set for the oldest.
    var subscriptionTimer: TimerID?
    var requests = UnansweredRequests()
    var pace = SubscriptionPace()
    /// When a message of the application's own was last sent on this connection.
    var ownMessageSentAt: Instant?
    package internal(set) var connectionWaiters: [WaiterID] = []
    package internal(set) var disconnectionWaiters: [WaiterID] = []
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
    package var socketID: String? { connection.session?.socketID }

    // MARK: Connecting and disconnecting

    package mutating func connect(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        catchUp(now: now, into: &effects)
        connection.connect(configuration, now: now, into: &effects)
        settleConnectionWaiters(into: &effects)
    }

    /// The count that the retry policy and the limit go by goes on from there.
    package mutating func countAttempts(from count: Int) { connection.countAttempts(from: count) }

    package mutating func disconnect(now: Instant, into effects: inout [Effect]) {
        connection.disconnect(configuration, now: now, into: &effects)
        connectionEnded(now: now, into: &effects)
    }

    /// The application has dropped the client: everything ends, for good.
    package mutating func release(now: Instant, into effects: inout [Effect]) {
        guard !isReleased else { return }
        disconnect(now: now, into: &effects)
        isReleased = true
        let error = Self.released
        for subscription in wantedSubscriptions {
            failWaiters(of: subscription.name, .failed(error), into: &effects)
            dropClientEvents(of: subscription.id, into: &effects)
            dropHeld(subscription.decryption?.held.count ?? 0)
            effects.append(.retired(subscription.id))
        }
        subscriptions = SubscriptionTable()
        let senders = sendWaiters.keys.sorted { $0.rawValue < $1.rawValue }
        for waiter in signIn.takeWaiters() + senders { effects.append(.resume(waiter, .failed(error))) }
        signIn = SignInStateMachine()
        sendWaiters = [:]
        // Nobody is left who could wait for the closing handshake.
        for waiter in disconnectionWaiters + endWaiters { effects.append(.resume(waiter, .done)) }
        disconnectionWaiters = []
        endWaiters = []
        effects.append(.released)
    }

    // MARK: The socket

    package mutating func opened(_ id: AttemptID, now: Instant, into effects: inout [Effect]) {
        if let handshake = connection.opened(id, now: now, into: &effects) {
            established(handshake, on: id, now: now, into: &effects)
        }
    }

    /// Any frame came that is not a message: ping, pong, part of a longer message.
    package mutating func activity(on id: AttemptID, now: Instant, into effects: inout [Effect]) {
        guard connection.isConnected, connection.currentAttempt == id else { return }
        frameCame(now: now, into: &effects)
    }

    /// A frame of any kind came on the connection that stands.
    mutating func frameCame(now: Instant, into effects: inout [Effect]) {
        liveness.activity(now: now, into: &effects)
        keepAlive.received()
    }

    /// Messages went out on the socket.
    package mutating func wrote(on id: AttemptID, now: Instant) {
        guard connection.currentAttempt == id else { return }
        keepAlive.sent(now: now)
    }

    package mutating func closed(
        _ id: AttemptID,
        _ closure: TransportClosure,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let wasSuspended = connection.isConnected && liveness.hasOverslept(now: now)
        if connection.isConnected, connection.currentAttempt == id, !wasSuspended, closure.isUnexplained {
            keepAlive.lost(now: now)
        }
        if connection.closed(id, closure, wasSuspended: wasSuspended, configuration, now: now, into: &effects) {
            connectionEnded(now: now, into: &effects)
        }
    }

    // MARK: Timers

    package mutating func timerFired(_ id: TimerID, now: Instant, into effects: inout [Effect]) {
        switch id.purpose {
        case .attempt, .retry, .unavailable, .closing:
            if connection.timerFired(id, configuration, now: now, into: &effects) {
                connectionEnded(now: now, into: &effects)
            }
            settleConnectionWaiters(into: &effects)
        case .activity, .pong:
            act(on: liveness.timerFired(id, now: now, into: &effects), now: now, into: &effects)
        case .keepAlive:
            if keepAlive.timerFired(id, now: now, into: &effects) { act(on: .sendPing, now: now, into: &effects) }
        case .subscription:
            guard subscriptionTimer == id else { return }
            subscriptionTimer = nil
            endOverdueSubscriptions(now: now, into: &effects)
        case .subscriptionPace:
            guard pace.timer == id else { return }
            pace.timer = nil
            goOnSubscribing(now: now, into: &effects)
        case .authorization:
            let outcome = authorizations.timerFired(id, configuration, now: now, into: &effects)
            settle(outcome, now: now, into: &effects)
        case .signIn:
            signInTimedOut(id, now: now, into: &effects)
        case .ownChannel:
            ownChannelTimedOut(id, now: now, into: &effects)
        case .clientEvents:
            guard clientEvents.timer == id else { return }
            clientEvents.timer = nil
            sendClientEvents(now: now, into: &effects)
        }
    }

    package mutating func retryDecided(
        _ question: RetryQuestionID,
        delay: Duration?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        switch question.subject {
        case .connection:
            connection.retryDecided(question, delay: delay, configuration, now: now, into: &effects)
            settleConnectionWaiters(into: &effects)
        case .authorization:
            let outcome = authorizations.retryDecided(question, delay: delay, configuration, now: now, into: &effects)
            settle(outcome, now: now, into: &effects)
        }
    }

    // MARK: Shared

    static var released: PusherClientError {
        PusherClientError(.disconnected, "the client was released: its last reference is gone")
    }

    mutating func nextSerial() -> UInt64 {
        serial += 1
        return serial
    }

    /// Makes up for timers that stood still while the computer was suspended.
    mutating func catchUp(now: Instant, into effects: inout [Effect]) {
        connection.catchUp(configuration, now: now, into: &effects)
        act(on: liveness.catchUp(now: now, into: &effects), now: now, into: &effects)
    }

    private mutating func act(
        on verdict: LivenessStateMachine.Verdict,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard let session = connection.session else { return }
        switch verdict {
        case .alive: break
        case .sendPing:
            pinged(now: now)
            effects.append(.send(session.attempt, .ping))
        case .dead(let timeout, let wasSuspended):
            let error = PusherClientError(
                .pongTimedOut,
                "nothing came from the server for \(timeout) after a ping"
                    + (wasSuspended ? "; the machine had been suspended, or the event loop held up" : "")
            )
            // A router that forgets idle connections tells neither side: what is sent after that is lost.
            if !wasSuspended { keepAlive.lost(now: now) }
            abandon(session.attempt, error, wasSuspended: wasSuspended, now: now, into: &effects)
        }
    }

    mutating func abandon(
        _ id: AttemptID,
        _ error: PusherClientError,
        closeCode: CloseCode? = nil,
        wasSuspended: Bool = false,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let isOver = connection.abandon(
            id,
            error,
            closeCode: closeCode,
            wasSuspended: wasSuspended,
            configuration,
            now: now,
            into: &effects
        )
        if isOver { connectionEnded(now: now, into: &effects) }
    }

    /// The handshake is complete: watch the server, and subscribe every channel that is wanted, oldest first.
    mutating func established(
        _ handshake: ConnectionStateMachine.Handshake,
        on id: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        lastSocketID = handshake.socketID
        pingTimer = PingTimer()
        let ceiling = configuration.activityTimeout
        // Whatever was set, pings must not follow each other without a pause.
        let activityTimeout = max(min(handshake.activityTimeout ?? ceiling, ceiling), .milliseconds(1))
        liveness.start(
            activityTimeout: activityTimeout,
            pongTimeout: configuration.timeouts.pong,
            now: now,
            into: &effects
        )
        keepAlive.start(activityTimeout: activityTimeout, now: now, into: &effects)
        settleConnectionWaiters(into: &effects)
        beginSignIn(now: now, into: &effects)
        for name in subscriptions.wantedNames { beginSubscription(to: name, now: now, into: &effects) }
    }

    /// The connection does not stand any more: nothing may be left of what belonged to it.
    mutating func connectionEnded(now: Instant, into effects: inout [Effect]) {
        if connection.session == nil {
            liveness.stop(into: &effects)
            keepAlive.stop(into: &effects)
            authorizations.cancelAll(into: &effects)
            signIn.connectionLost(into: &effects)
            loseClientEvents(into: &effects)
            losePace(now: now, into: &effects)
            loseSubscriptions(now: now, into: &effects)
            requests = UnansweredRequests()
            ownMessageSentAt = nil
        }
        settleConnectionWaiters(into: &effects)
    }
}

extension TransportClosure {
    /// Whether the connection ended as one does that is cut because it was idle: without a word, or with a code that
    /// gives no reason.
    fileprivate var isUnexplained: Bool {
        switch (code?.rawValue, error?.code) {
        case (nil, nil), (nil, .connectionClosed?), (nil, .connectionFailed?): true
        case (1000?, _), (1001?, _), (1005?, _), (1006?, _): true
        default: false
        }
    }
}
