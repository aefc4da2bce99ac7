package import RealtimePrimitives

/// Decides the actions of a connection. Each input is a method that returns the actions to carry out, in order.
///
/// The machine has no clock, transport, task or closure. The machine's times come from a clock that continues while the
/// computer is suspended.
package struct HubStateMachine: LoopMachine {
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
        /// Ask the retry policy of this start, or the policy for losses. ``retryDecided(_:delay:now:)`` answers the
        /// action.
        case askRetryPolicy(Reconnector<HubFailure?>.Question, start: WaiterID? = nil)

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

    /// A call of `start()` that waits for a connection.
    struct Start: Sendable {
        var id: WaiterID
        /// Whether the machine consults a retry policy after a failed attempt.
        var retries: Bool
        var since: Duration
    }

    /// The transport is closing.
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
        /// The time until which data may have waited since before a suspension; nil if there was none.
        var ignoresDataUntil: Duration?
        var resumption: Resumption?
        var authentication = Authentication()
    }

    package let configuration: Configuration
    /// Decides about attempts. Resuming a connection is not one of them.
    var reconnector = Reconnector<HubFailure?>(attemptTimeout: nil, backOffReset: .zero)
    /// The call of `start()` that the machine works for; `nil` after a loss.
    var start: Start?
    /// The number of attempts before the current start.
    var earlierAttempts = 0
    /// Whether the client has announced that it reconnects.
    var isOutageAnnounced = false
    var stopping: Stopping?
    /// The current attempt and its transport.
    var attempt: Attempt?
    /// The current connection; `nil` if there is none.
    var session: Session?
    /// The times for which the machine waits.
    var waits: [WaitPurpose: Duration] = [:]
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
        if let stopping { return stopping.start == nil ? .stopped : .connecting }
        return switch reconnector.phase {
        case .idle, .ended: .stopped
        case .open: .connected
        case .opening, .asking, .waiting: start == nil ? .reconnecting : .connecting
        }
    }

    /// The earliest time at which the machine needs a call of ``wake(now:)``; `nil` if it waits for no time.
    package var wakeUp: Duration? {
        let earliest = waits.values.min()
        guard let retry = reconnector.wakeUp else { return earliest }
        return earliest.map { min($0, retry) } ?? retry
    }

    /// The waiting calls, for tests.
    package var pendingCalls: Set<CallID> { Set(session.map { Array($0.calls.keys) } ?? []) }

    // MARK: Inputs of the app

    /// - Parameter retries: Whether the machine consults a retry policy after a failed attempt.
    package mutating func start(_ id: WaiterID, retries: Bool = false, now: Duration) -> [Action] {
        collect { machine in
            let start = Start(id: id, retries: retries, since: now)
            switch machine.state {
            case .stopped where machine.stopping != nil: machine.stopping?.start = start
            case .stopped: machine.beginStart(start, now: now)
            case .connecting, .connected, .reconnecting: machine.add(.finishStart(id, .notStopped))
            }
        }
    }

    /// Stops a start whose task was cancelled, and finishes the waiting call.
    package mutating func cancelStart(_ id: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            if machine.start?.id == id { return machine.failStart(.cancelled) }
            guard machine.stopping?.start?.id == id else { return }
            machine.stopping?.start = nil
            machine.add(.finishStart(id, .cancelled))
        }
    }

    package mutating func stop(_ id: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            if machine.start != nil {
                machine.failStart(.signalR(.connectionAborted))
                return machine.add(.finishStop(id))
            }
            if let start = machine.stopping?.start { machine.add(.finishStart(start.id, .signalR(.connectionAborted))) }
            machine.stopping?.start = nil
            switch machine.state {
            case .stopped where machine.stopping != nil: machine.stopping?.stops.append(id)
            case .stopped: machine.add(.finishStop(id))
            case .connected:
                machine.transmit(.close(error: nil, allowReconnect: false), now: now)
                machine.beginStopping(nil, stops: [id], now: now)
            case .connecting, .reconnecting: machine.end(nil, stops: [id])
            }
        }
    }

    // MARK: Times

    /// Handles all times that are over. An earlier one can end the wait for a later one.
    package mutating func wake(now: Duration) -> [Action] {
        collect { machine in
            let isRetryDue = machine.reconnector.wakeUp.map { $0 <= now } ?? false
            let due = machine.waits.filter { $0.value <= now }
            for (purpose, time) in due.sorted(by: { ($0.value, $0.key.rawValue) < ($1.value, $1.key.rawValue) })
            where machine.waits[purpose] == time {
                machine.waits[purpose] = nil
                switch purpose {
                case .handshake: machine.attemptFailed(.signalR(.noHandshakeMessageReceived), now: now)
                case .keepAlive: machine.keepAlive(now: now)
                case .serverTimeout: machine.checkServerTimeout(now: now)
                case .acknowledgement: machine.acknowledge(now: now)
                case .resume: machine.reopen()
                case .resumeDeadline: machine.resumptionFailed(now: now)
                case .closing: machine.closingEnded(now: now)
                case .refresh: machine.beginRefresh(for: [])
                }
            }
            if isRetryDue { machine.follow(machine.reconnector.wake(now: now)) }
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
}
