/// Decides the actions of a connection. Each input is a method that returns the actions to carry out, in order.
///
/// The machine has no clock, transport, task or closure. The machine's times come from a clock that continues while the
/// computer is suspended.
package struct HubStateMachine: Sendable {
    package struct Configuration: Sendable {
        package var hubProtocol: HubProtocol
        package var handshakeTimeout: Duration = .seconds(15)
        package var serverTimeout: Duration = .seconds(30)
        package var keepAliveInterval: Duration = .seconds(15)
        /// The time limit for closing the transport.
        package var closeTimeout: Duration = .seconds(5)
        /// Whether the machine consults a retry policy after a loss.
        package var reconnects = false
        /// The maximum size of a message from the server, in bytes.
        package var maximumMessageSize = 16 << 20
        /// The maximum number of unacknowledged bytes, if the client can resume the connection.
        package var resumptionBufferSize = 100_000
        /// Whether the client refreshes the authentication before it expires.
        package var refreshesAuthentication = true
        /// The longest time before the expiry at which the client refreshes the authentication.
        package var refreshLead: Duration = .seconds(300)

        package init(_ hubProtocol: HubProtocol) { self.hubProtocol = hubProtocol }
    }

    package enum Action: Equatable, Sendable {
        /// Negotiate, and open a transport. ``opened(_:_:now:)`` or ``failed(_:_:now:)`` answers the action.
        case open(AttemptID)
        /// Open another transport for the same connection, without a negotiation. The answer is the same as for
        /// ``open(_:)``.
        case reopen(AttemptID)
        /// Write bytes, and report the result to the waiting call.
        case write(AttemptID, [UInt8], receipt: WaiterID?)
        /// Write the earlier bytes, and close the transport. ``closed(_:_:now:)`` answers the action.
        case close(AttemptID)
        /// Abort the transport, or the attempt to open a transport. The engine reports no more events of the transport.
        case abort(AttemptID)
        case schedule(TimerID, after: Duration)
        case cancel(TimerID)
        /// Ask the retry policy of this start, or the policy for losses. ``retryDecided(_:delay:now:)`` answers the
        /// action.
        case askRetryPolicy(
            QuestionID,
            retryCount: Int,
            elapsed: Duration,
            reason: HubFailure?,
            start: WaiterID? = nil
        )

        /// Ask the app for a token, and send it to the server. ``refreshed(_:_:now:)`` answers the action.
        case refreshAuthentication(RefreshID)
        case cancelRefresh(RefreshID)
        case finishRefresh(WaiterID, Result<Duration?, HubFailure>)
        /// The authentication is valid for this time; `nil` if the server named none.
        case announceRefreshed(Duration?)
        case announceRefreshFailed(HubFailure)

        case finishStart(WaiterID, HubFailure?)
        case finishStop(WaiterID)
        /// Finish a call of `send`, or the sending of an item, without waiting for a transport to write the message.
        /// The call has failed, or the client keeps the message for a resumption.
        case finishSend(WaiterID, HubFailure?)
        /// Finish a call or stream of the app. No further action follows for the same id.
        case finishCall(CallID, Result<HubOutcome, HubFailure>)
        case deliverItem(CallID, EncodedValue)
        /// Begin the uploads of a call that the client has sent.
        case beginUploads([CallID])
        /// Stop an upload, because the server does not need the remaining items.
        case cancelUpload(CallID)
        /// Deliver the server's call of a method. If the call has an id, ``answer(_:to:of:now:)`` answers it.
        case deliver(HubInvocation, SessionID)

        case announceReconnecting(HubFailure?)
        case announceReconnected
        case announceClosed(HubFailure?)
        case publish(HubStatus)
        /// Log why the machine ignored a message of the server.
        case ignored(String)
    }

    enum Phase: Sendable {
        case stopped
        /// The first attempt of a start. For later attempts, the phase has an ``Outage``.
        case starting(Start)
        case connected
        /// The retry policy decides whether there is another attempt.
        case asking(Outage, QuestionID)
        case waiting(Outage)
        case reconnecting(Outage)
        /// The transport is closing.
        case stopping(Stopping)
    }

    /// A call of `start()` that waits for a connection.
    struct Start: Sendable {
        var id: WaiterID
        /// Whether the machine consults a retry policy after a failed attempt.
        var retries: Bool
        var since: Duration
    }

    /// A time without a connection, since a loss or since the call of `start()`.
    struct Outage: Sendable {
        var since: Duration
        var retryCount = 0
        /// The reason for the loss or the last failure.
        var reason: HubFailure?
        var isAnnounced = false
        /// The call of `start()` that the machine retries; `nil` after a loss.
        var start: Start?
    }

    struct Stopping: Sendable {
        var failure: HubFailure?
        var stops: [WaiterID] = []
        /// A call of `start()` that waits until the transport is closed.
        var start: Start?
    }

    /// A transport that is open or opening.
    struct Attempt: Sendable {
        var id: AttemptID
        /// The properties of the transport; `nil` until it is open.
        var info: TransportInfo?
        var isHandshakeDone = false
        var reader: HubFrameReader
    }

    enum CallKind: Sendable {
        case invocation
        case stream
    }

    /// The state that belongs to one connection.
    struct Session: Sendable {
        var id: SessionID
        var info: TransportInfo
        var calls: [CallID: CallKind] = [:]
        /// The uploads, and the calls that have them as arguments. The call is `nil` if the server does not answer the
        /// call.
        var uploads: [CallID: CallID?] = [:]
        var lastSent: Duration
        var lastReceived: Duration
        var resumption: Resumption?
        var authentication = Authentication()
    }

    package let configuration: Configuration
    var phase = Phase.stopped
    /// The current attempt and its transport.
    var attempt: Attempt?
    /// The current connection; `nil` in all phases except `connected`.
    var session: Session?
    var timers: [TimerID.Kind: TimerID] = [:]
    private var actions: [Action] = []
    private var serial: UInt64 = 0

    package init(_ configuration: Configuration) { self.configuration = configuration }

    // MARK: Reading

    package enum State: Hashable, Sendable {
        case stopped
        case connecting
        case connected
        case reconnecting
    }

    package var state: State {
        switch phase {
        case .stopped: .stopped
        case .stopping(let stopping): stopping.start == nil ? .stopped : .connecting
        case .starting: .connecting
        case .connected: .connected
        case .asking(let outage, _), .waiting(let outage), .reconnecting(let outage):
            outage.start == nil ? .reconnecting : .connecting
        }
    }

    /// The current start.
    var currentStart: Start? {
        switch phase {
        case .starting(let start): start
        case .asking(let outage, _), .waiting(let outage), .reconnecting(let outage): outage.start
        case .stopped, .connected, .stopping: nil
        }
    }

    /// The running timers, for tests.
    package var runningTimers: Set<TimerID> { Set(timers.values) }
    /// The waiting calls, for tests.
    package var pendingCalls: Set<CallID> { Set(session.map { Array($0.calls.keys) } ?? []) }

    // MARK: Inputs of the app

    /// - Parameter retries: Whether the machine consults a retry policy after a failed attempt.
    package mutating func start(_ id: WaiterID, retries: Bool = false, now: Duration) -> [Action] {
        collect { machine in
            let start = Start(id: id, retries: retries, since: now)
            switch machine.phase {
            case .stopped: machine.beginStart(start, now: now)
            case .stopping(var stopping) where stopping.start == nil:
                stopping.start = start
                machine.phase = .stopping(stopping)
            case .stopping, .starting, .connected, .asking, .waiting, .reconnecting:
                machine.add(.finishStart(id, .notStopped))
            }
        }
    }

    /// Stops a start whose task was cancelled, and finishes the waiting call.
    package mutating func cancelStart(_ id: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            if machine.currentStart?.id == id { return machine.failStart(.cancelled) }
            guard case .stopping(var stopping) = machine.phase, stopping.start?.id == id else { return }
            stopping.start = nil
            machine.phase = .stopping(stopping)
            machine.add(.finishStart(id, .cancelled))
        }
    }

    package mutating func stop(_ id: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            if machine.currentStart != nil {
                machine.failStart(.signalR(.connectionAborted))
                return machine.add(.finishStop(id))
            }
            switch machine.phase {
            case .stopped: machine.add(.finishStop(id))
            case .connected:
                machine.transmit(.close(error: nil, allowReconnect: false), now: now)
                machine.beginStopping(nil, stops: [id], now: now)
            case .starting, .asking, .waiting, .reconnecting: machine.end(nil, stops: [id])
            case .stopping(var stopping):
                if let start = stopping.start { machine.add(.finishStart(start.id, .signalR(.connectionAborted))) }
                stopping.start = nil
                stopping.stops.append(id)
                machine.phase = .stopping(stopping)
            }
        }
    }

    // MARK: Timers

    package mutating func timerFired(_ id: TimerID, now: Duration) -> [Action] {
        collect { machine in
            guard machine.timers[id.kind] == id else { return }
            machine.timers[id.kind] = nil
            switch id.kind {
            case .handshake: machine.attemptFailed(.signalR(.noHandshakeMessageReceived), now: now)
            case .retry: machine.retry()
            case .keepAlive: machine.keepAlive(now: now)
            case .serverTimeout: machine.checkServerTimeout(now: now)
            case .acknowledgement: machine.acknowledge(now: now)
            case .resume: machine.reopen()
            case .resumeDeadline: machine.resumptionFailed(now: now)
            case .closing: machine.closingEnded(now: now)
            case .refresh: machine.beginRefresh(for: [])
            }
        }
    }

    // MARK: Actions

    mutating func collect(_ input: (inout Self) -> Void) -> [Action] {
        input(&self)
        defer { actions = [] }
        return actions
    }

    mutating func add(_ action: Action) { actions.append(action) }

    mutating func nextSerial() -> UInt64 {
        serial += 1
        return serial
    }

    /// Sets a timer. The new timer replaces an earlier timer of the same kind.
    mutating func setTimer(_ kind: TimerID.Kind, after delay: Duration) {
        cancelTimer(kind)
        let timer = TimerID(kind: kind, serial: nextSerial())
        timers[kind] = timer
        add(.schedule(timer, after: max(delay, .zero)))
    }

    mutating func cancelTimer(_ kind: TimerID.Kind) {
        if let timer = timers.removeValue(forKey: kind) { add(.cancel(timer)) }
    }
}
