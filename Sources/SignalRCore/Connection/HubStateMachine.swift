/// Decides the actions of a connection: inputs are methods, and each returns the actions to carry out, in order.
///
/// It has no clock, transport, task or closure. Times are on a clock that continues while the computer is suspended.
package struct HubStateMachine: Sendable {
    package struct Configuration: Sendable {
        package var hubProtocol: HubProtocol
        package var handshakeTimeout: Duration = .seconds(15)
        package var serverTimeout: Duration = .seconds(30)
        package var keepAliveInterval: Duration = .seconds(15)
        /// How long the transport may take to close.
        package var closeTimeout: Duration = .seconds(5)
        /// Whether there is a retry policy to ask after a loss.
        package var reconnects = false
        /// The largest message of the server, in bytes.
        package var maximumMessageSize = 16 << 20
        /// The most bytes that may wait for an acknowledgement, if the connection can be resumed.
        package var resumptionBufferSize = 100_000

        package init(_ hubProtocol: HubProtocol) { self.hubProtocol = hubProtocol }
    }

    package enum Action: Equatable, Sendable {
        /// Negotiate, and open a transport. ``opened(_:_:now:)`` or ``failed(_:_:now:)`` answers it.
        case open(AttemptID)
        /// Open another transport for the same connection, without a negotiation. It is answered in the same way.
        case reopen(AttemptID)
        /// Write bytes, and report the result to the waiting call.
        case write(AttemptID, [UInt8], receipt: WaiterID?)
        /// Write the earlier bytes, and close the transport. ``closed(_:_:now:)`` answers it.
        case close(AttemptID)
        /// End the transport, or the attempt to open one, at once. No events of it are reported afterwards.
        case abort(AttemptID)
        case schedule(TimerID, after: Duration)
        case cancel(TimerID)
        /// Ask the retry policy of this start, or the one for losses. ``retryDecided(_:delay:now:)`` answers it.
        case askRetryPolicy(
            QuestionID,
            retryCount: Int,
            elapsed: Duration,
            reason: HubFailure?,
            start: WaiterID? = nil
        )

        case finishStart(WaiterID, HubFailure?)
        case finishStop(WaiterID)
        /// A call of `send` returns, without a write by a transport.
        case finishSend(WaiterID, HubFailure?)
        /// A call or stream of the app ends. It is the last action for that id.
        case finishCall(CallID, Result<HubOutcome, HubFailure>)
        case deliverItem(CallID, EncodedValue)
        /// The call was sent, so its uploads may follow.
        case beginUploads([CallID])
        /// The rest of an upload is not needed.
        case cancelUpload(CallID)
        /// The server calls a method of the app. If it has an id, ``answer(_:to:of:now:)`` answers it.
        case deliver(HubInvocation, SessionID)

        case announceReconnecting(HubFailure?)
        case announceReconnected
        case announceClosed(HubFailure?)
        case publish(HubStatus)
        /// The server's message was ignored, for this reason.
        case ignored(String)
    }

    enum Phase: Sendable {
        case stopped
        /// The first attempt of a start. The later ones belong to an outage.
        case starting(Start)
        case connected
        /// The retry policy decides.
        case asking(Outage, QuestionID)
        case waiting(Outage)
        case reconnecting(Outage)
        /// The transport is closing.
        case stopping(Stopping)
    }

    /// A call of `start()` that waits for a connection.
    struct Start: Sendable {
        var id: WaiterID
        /// Whether there is a retry policy to ask after a failed attempt.
        var retries: Bool
        var since: Duration
    }

    /// The time without a connection, from the loss or from the start.
    struct Outage: Sendable {
        var since: Duration
        var retryCount = 0
        /// The loss, or why the last attempt failed.
        var reason: HubFailure?
        var isAnnounced = false
        /// The start that is retried; `nil` after a loss.
        var start: Start?
    }

    struct Stopping: Sendable {
        var failure: HubFailure?
        var stops: [WaiterID] = []
        /// A call of `start()` that waits for the end.
        var start: Start?
    }

    /// A transport that is open, or that is being opened.
    struct Attempt: Sendable {
        var id: AttemptID
        /// `nil` until it is open.
        var info: TransportInfo?
        var isHandshakeDone = false
        var reader: HubFrameReader
    }

    enum CallKind: Sendable {
        case invocation
        case stream
    }

    /// The state of one connection. It ends with the connection.
    struct Session: Sendable {
        var id: SessionID
        var info: TransportInfo
        var calls: [CallID: CallKind] = [:]
        /// The uploads, with the calls that they belong to; `nil` for a call without an answer.
        var uploads: [CallID: CallID?] = [:]
        var lastSent: Duration
        var lastReceived: Duration
        var resumption: Resumption?
    }

    package let configuration: Configuration
    var phase = Phase.stopped
    /// There is at most one.
    var attempt: Attempt?
    /// It exists only in the phase `connected`.
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

    /// For tests: the running timers.
    package var runningTimers: Set<TimerID> { Set(timers.values) }
    /// For tests: the waiting calls.
    package var pendingCalls: Set<CallID> { Set(session.map { Array($0.calls.keys) } ?? []) }

    // MARK: Inputs of the app

    /// - Parameter retries: Whether there is a retry policy to ask after a failed attempt.
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

    /// Ends the wait of a cancelled task.
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

    /// There is one timer of each kind: an earlier one is cancelled.
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
