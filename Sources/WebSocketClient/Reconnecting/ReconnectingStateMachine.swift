import RealtimeNetworking
import RealtimePrimitives

/// Decides the actions of a ``ReconnectingWebSocket``. Each input is a method that returns the actions to carry out.
///
/// The machine has no clock, socket or task. The state ``Phase/open(_:)`` contains everything that belongs to one
/// connection.
struct ReconnectingStateMachine: Sendable {
    /// The id of an attempt to connect. The machine ignores an input if its id is from an earlier attempt.
    typealias Attempt = Int
    typealias SendID = UInt64

    struct TimerID: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            /// The time limit for an attempt to connect, including the app's closure that makes the request.
            case attempt
            /// The end of the wait before the next attempt.
            case retry
            /// The time of the next heartbeat, or the time by which the server must have answered a heartbeat.
            case heartbeat
        }

        var kind: Kind
        var serial: Int
    }

    enum Action: Equatable, Sendable {
        /// Call the app's closure for the request, and answer with ``requested(_:_:now:)``.
        case makeRequest(Attempt)
        case open(Attempt, WebSocketRequest)
        /// Start the closing handshake.
        case close(Attempt, WebSocketCloseCode, reason: String)
        /// Abort the connection, or cancel the task that makes the request. Afterwards, the session reports no events
        /// of the attempt.
        case abort(Attempt)
        /// Write the first messages of the connection.
        case sendOpeningMessages(Attempt)
        /// Write a message, and report the result to the waiting call.
        case write(Attempt, SendID, WebSocketMessage)
        case sendHeartbeat(Attempt)
        /// Fail a waiting call of `send`.
        case fail(SendID, WebSocketError)
        /// Ask the retry policy, and answer with ``retryDecided(_:delay:now:)``.
        case askRetryPolicy(Attempt, retryCount: Int, elapsed: Duration, reason: WebSocketError)
        case schedule(TimerID, after: Duration)
        case cancel(TimerID)
        case publish(ReconnectingWebSocket.State)
    }

    struct Configuration: Sendable {
        var connectTimeout: Duration
        var heartbeat: ReconnectingWebSocket.Heartbeat
        var backOffReset: Duration
        var maximumQueuedMessages: Int
        var maximumQueuedBytes: Int
    }

    private enum Phase: Sendable {
        case idle
        /// The app's closure makes the request.
        case preparing(Attempt, timer: TimerID)
        case connecting(Attempt, timer: TimerID)
        case open(Session)
        /// The retry policy decides whether there is another attempt.
        case asking(Attempt, after: WebSocketClosure)
        case waiting(timer: TimerID)
        case closing(Attempt)
        case closed(WebSocketClosure)
    }

    private struct Session: Sendable {
        var attempt: Attempt
        var since: Duration
        var lastActivity: Duration
        /// The time of the last heartbeat, or of the start of the connection.
        var lastHeartbeat: Duration
        /// The time of the first heartbeat since the last data arrived; `nil` if there was none.
        var unansweredSince: Duration?
        /// The timer of the heartbeat; `nil` without a heartbeat.
        var timer: TimerID?
        /// The time at which the timer is due; `nil` without a heartbeat.
        var timerDue: Duration?

        /// Whether the computer was suspended since the session has set the timer: the timer is overdue by more than
        /// the time in which a running client notices that it is due.
        func wasSuspended(now: Duration) -> Bool {
            timerDue.map { now - $0 > ClockedTimers<TimerID>.checkInterval } ?? false
        }

        func nextHeartbeat(_ heartbeat: ReconnectingWebSocket.Heartbeat, _ interval: Duration) -> Duration {
            (heartbeat.isFixed ? lastHeartbeat : max(lastHeartbeat, lastActivity)) + interval
        }
    }

    private let configuration: Configuration
    private var phase = Phase.idle
    private var attempts: Attempt = 0
    private var timers = 0
    /// The number of retries since the last connection that was open long enough.
    private var retryCount = 0
    /// The time when the connection was lost, or when the app called `connect()`. The time is `nil` while there is a
    /// connection, and before the first attempt.
    private var outage: Duration?
    private var queue: [(id: SendID, message: WebSocketMessage)] = []
    private var queuedBytes = 0

    init(_ configuration: Configuration) { self.configuration = configuration }

    // MARK: Calls of the app

    mutating func connect(now: Duration) -> [Action] {
        guard case .idle = phase else { return [] }
        outage = now
        return beginAttempt()
    }

    mutating func close(code: WebSocketCloseCode, reason: String) -> [Action] {
        let closure = WebSocketClosure(code: nil)
        switch phase {
        case .idle, .asking: return end(closure)
        case .preparing(let attempt, let timer), .connecting(let attempt, let timer):
            return [.cancel(timer), .abort(attempt)] + end(closure)
        case .waiting(let timer): return [.cancel(timer)] + end(closure)
        case .open(let session):
            phase = .closing(session.attempt)
            return cancelTimer(of: session) + [.publish(.closing), .close(session.attempt, code, reason: reason)]
        case .closing, .closed: return []
        }
    }

    mutating func send(_ message: WebSocketMessage, _ id: SendID) -> [Action] {
        switch phase {
        case .open(let session): return [.write(session.attempt, id, message)]
        case .closing, .closed:
            return [.fail(id, WebSocketError(.connectionClosed, "Message not sent: the WebSocket is closed."))]
        case .idle, .preparing, .connecting, .asking, .waiting:
            guard queue.count < configuration.maximumQueuedMessages,
                queuedBytes + message.size <= configuration.maximumQueuedBytes
            else {
                let error = WebSocketError(
                    .sendQueueFull,
                    """
                    Send queue full: \(queue.count) messages of \(queuedBytes) bytes wait for the connection. The message \
                    of \(message.size) bytes was not sent.
                    """
                )
                return [.fail(id, error)]
            }
            queue.append((id, message))
            queuedBytes += message.size
            return []
        }
    }

    /// Removes the message of a cancelled call. Returns whether the message was still in the queue.
    mutating func cancelSend(_ id: SendID) -> Bool {
        guard let index = queue.firstIndex(where: { $0.id == id }) else { return false }
        queuedBytes -= queue.remove(at: index).message.size
        return true
    }

    // MARK: Answers and events

    mutating func requested(
        _ attempt: Attempt,
        _ result: Result<WebSocketRequest, WebSocketError>,
        now: Duration
    ) -> [Action] {
        guard case .preparing(attempt, let timer) = phase else { return [] }
        switch result {
        case .success(let request):
            phase = .connecting(attempt, timer: timer)
            return [.open(attempt, request)]
        case .failure(let error):
            return [.cancel(timer)] + lost(WebSocketClosure(code: nil, error: error), now: now)
        }
    }

    mutating func opened(_ attempt: Attempt, now: Duration) -> [Action] {
        guard case .connecting(attempt, let timer) = phase else { return [] }
        var session = Session(attempt: attempt, since: now, lastActivity: now, lastHeartbeat: now)
        var actions: [Action] = [.cancel(timer)]
        if let interval = configuration.heartbeat.interval {
            let timer = makeTimer(.heartbeat)
            session.timer = timer
            session.timerDue = now + interval
            actions.append(.schedule(timer, after: interval))
        }
        outage = nil
        phase = .open(session)
        actions += [.publish(.open), .sendOpeningMessages(attempt)]
        actions += queue.map { .write(attempt, $0.id, $0.message) }
        queue = []
        queuedBytes = 0
        return actions
    }

    /// Records the arrival of data from the server.
    mutating func activity(_ attempt: Attempt, now: Duration) {
        guard case .open(var session) = phase, session.attempt == attempt else { return }
        // The data may have arrived before the suspension, so it does not show that the connection still works.
        if session.wasSuspended(now: now) { return }
        session.lastActivity = now
        session.unansweredSince = nil
        phase = .open(session)
    }

    mutating func closed(_ attempt: Attempt, _ closure: WebSocketClosure, now: Duration) -> [Action] {
        switch phase {
        case .connecting(attempt, let timer): return [.cancel(timer)] + lost(closure, now: now)
        case .open(let session) where session.attempt == attempt:
            return cancelTimer(of: session) + lost(closure, heldFor: now - session.since, now: now)
        case .closing(attempt): return end(closure)
        case .idle, .preparing, .connecting, .open, .asking, .waiting, .closing, .closed: return []
        }
    }

    mutating func retryDecided(_ attempt: Attempt, delay: Duration?, now: Duration) -> [Action] {
        guard case .asking(attempt, var closure) = phase else { return [] }
        let reason = WebSocketError(closure)
        guard let delay else {
            closure.error = reason
            return end(closure)
        }
        retryCount += 1
        let wait = max(delay, .zero)
        let timer = makeTimer(.retry)
        phase = .waiting(timer: timer)
        return [
            .publish(.waiting(attempt: attempts + 1, delay: wait, reason: reason)), .schedule(timer, after: wait),
        ]
    }

    /// - Parameter isPaused: Whether the client has paused reading because the app consumes messages too slowly. During
    ///   a pause, the client cannot receive an answer.
    mutating func timerFired(_ timer: TimerID, isPaused: Bool, now: Duration) -> [Action] {
        switch phase {
        case .preparing(let attempt, timer), .connecting(let attempt, timer):
            let timeout = configuration.connectTimeout
            let error = WebSocketError(
                .connectionTimedOut,
                "Connection timed out: there was no connection within \(timeout.inWords)."
            )
            return [.abort(attempt)] + lost(WebSocketClosure(code: nil, error: error), now: now)
        case .waiting(timer): return beginAttempt()
        case .open(let session) where session.timer == timer:
            return heartbeat(session, isPaused: isPaused, now: now)
        case .idle, .preparing, .connecting, .open, .asking, .waiting, .closing, .closed: return []
        }
    }

    // MARK: Transitions

    private mutating func beginAttempt() -> [Action] {
        attempts += 1
        let timer = makeTimer(.attempt)
        phase = .preparing(attempts, timer: timer)
        return [
            .publish(.connecting(attempt: attempts)), .schedule(timer, after: configuration.connectTimeout),
            .makeRequest(attempts),
        ]
    }

    /// Checks whether the server has answered the heartbeat, and sends the next heartbeat if it is due.
    private mutating func heartbeat(_ session: Session, isPaused: Bool, now: Duration) -> [Action] {
        guard let interval = configuration.heartbeat.interval else { return [] }
        var session = session
        let timeout = configuration.heartbeat.timeout
        // The server had no chance to answer an earlier heartbeat, so the client asks again.
        let wasSuspended = session.wasSuspended(now: now)
        if wasSuspended { session.unansweredSince = nil }
        if let since = session.unansweredSince, now - since >= timeout {
            guard isPaused else {
                let error = WebSocketError(
                    .pongTimedOut,
                    "Connection lost: the server did not answer a ping within \(timeout.inWords)."
                )
                return [.abort(session.attempt)]
                    + lost(WebSocketClosure(code: nil, error: error), heldFor: now - session.since, now: now)
            }
            // While the client has paused reading, it cannot receive an answer. The next heartbeat begins a new wait.
            session.unansweredSince = nil
        }
        var actions: [Action] = []
        if wasSuspended || session.nextHeartbeat(configuration.heartbeat, interval) <= now {
            session.lastHeartbeat = now
            session.unansweredSince = session.unansweredSince ?? now
            actions.append(.sendHeartbeat(session.attempt))
        }
        let next = session.nextHeartbeat(configuration.heartbeat, interval)
        let check = session.unansweredSince.map { min(next, $0 + timeout) } ?? next
        let timer = makeTimer(.heartbeat)
        session.timer = timer
        session.timerDue = check
        phase = .open(session)
        return [.schedule(timer, after: check - now)] + actions
    }

    private mutating func lost(_ closure: WebSocketClosure, heldFor time: Duration? = nil, now: Duration) -> [Action] {
        let since = outage ?? now
        outage = since
        if let time, time >= configuration.backOffReset { retryCount = 0 }
        let reason = WebSocketError(closure)
        if reason.code.isPermanent { return end(closure) }
        phase = .asking(attempts, after: closure)
        return [.askRetryPolicy(attempts, retryCount: retryCount, elapsed: now - since, reason: reason)]
    }

    private mutating func end(_ closure: WebSocketClosure) -> [Action] {
        phase = .closed(closure)
        let error = closure.error ?? WebSocketError(.connectionClosed, "Message not sent: the WebSocket is closed.")
        defer { (queue, queuedBytes) = ([], 0) }
        return queue.map { .fail($0.id, error) } + [.publish(.closed(closure))]
    }

    private mutating func makeTimer(_ kind: TimerID.Kind) -> TimerID {
        timers += 1
        return TimerID(kind: kind, serial: timers)
    }

    private func cancelTimer(of session: Session) -> [Action] { session.timer.map { [.cancel($0)] } ?? [] }
}

extension WebSocketError {
    /// Creates the error for a connection that was closed.
    init(_ closure: WebSocketClosure) {
        if let error = closure.error {
            self = error
        } else {
            let code = closure.code.map { " with code \($0)" } ?? ""
            let reason = closure.reason.isEmpty ? "" : " and the reason \(closure.reason.quoted)"
            self.init(
                .connectionClosed,
                "Connection lost: the server closed it\(code)\(reason).",
                closeCode: closure.code
            )
        }
    }
}
