import RealtimePrimitives

/// Decides the actions of a ``ReconnectingWebSocket``. Each input is a method that returns the actions to carry out.
///
/// The machine has no clock, socket or task. The state ``Connection/open(_:)`` contains everything that belongs to one
/// connection.
struct ReconnectingStateMachine: LoopMachine {
    typealias Attempt = Reconnector<WebSocketError>.Attempt
    typealias SendID = UInt64

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
        case askRetryPolicy(Reconnector<WebSocketError>.Question)
        case publish(ReconnectingWebSocket.State)
        /// Publish the state ``ReconnectingWebSocket/State/waiting(until:attempt:reason:)``. `until` is a time of the
        /// machine's clock.
        case publishWait(until: Duration, attempt: Attempt, reason: WebSocketError)
        /// Publish the state ``ReconnectingWebSocket/State/closed(_:)``, and end the sequence of messages.
        case finish(WebSocketClosure)
    }

    struct Configuration: Sendable {
        var connectTimeout: Duration
        var heartbeat: ReconnectingWebSocket.Heartbeat
        var backOffReset: Duration
        var maximumQueuedMessages: Int
        var maximumQueuedBytes: Int
    }

    /// The connection of the current attempt.
    private enum Connection: Sendable {
        /// There is none, or it has ended.
        case none(WebSocketClosure)
        /// The app's closure makes the request.
        case requested
        /// - Parameter retryAfter: The minimum wait before the next attempt, if the server refuses this one.
        case opening(retryAfter: Duration)
        case open(Session)
        /// The app has closed the WebSocket.
        case closing
    }

    private struct Session: Sendable {
        var lastActivity: Duration
        /// The time of the last heartbeat, or of the start of the connection.
        var lastHeartbeat: Duration
        /// The time of the first heartbeat since the last data arrived; `nil` if there was none.
        var unansweredSince: Duration?
        /// Whether only a pong answers the heartbeat. Other data may have waited in a buffer since before a suspension,
        /// and take several reads, so it doesn't show that the connection still works.
        var needsPong = false
        /// The time of the next check or heartbeat; `nil` without a heartbeat.
        var nextCheck: Duration?

        /// Whether the computer was suspended since the session has set the next check: the check is overdue by more
        /// than the time in which a running client notices that it is due.
        func wasSuspended(now: Duration) -> Bool {
            nextCheck.map { now - $0 > Suspension.checkInterval } ?? false
        }

        func nextHeartbeat(_ heartbeat: ReconnectingWebSocket.Heartbeat, _ interval: Duration) -> Duration {
            (heartbeat.isFixed ? lastHeartbeat : max(lastHeartbeat, lastActivity)) + interval
        }
    }

    private let configuration: Configuration
    private var reconnector: Reconnector<WebSocketError>
    private var connection = Connection.none(WebSocketClosure(code: nil))
    private var queue: [(id: SendID, message: WebSocketMessage)] = []
    private var queuedBytes = 0
    /// The address of the last request, without secrets.
    private var address: String?

    init(_ configuration: Configuration) {
        self.configuration = configuration
        reconnector = Reconnector(
            attemptTimeout: configuration.connectTimeout,
            backOffReset: configuration.backOffReset
        )
    }

    var wakeUp: Duration? {
        if case .open(let session) = connection { session.nextCheck } else { reconnector.wakeUp }
    }

    // MARK: Calls of the app

    mutating func connect(now: Duration) -> [Action] {
        guard case .idle = reconnector.phase else { return [] }
        return follow(reconnector.open(now: now), now: now)
    }

    mutating func close(code: WebSocketCloseCode, reason: String) -> [Action] {
        switch connection {
        case .none:
            if case .ended = reconnector.phase { return [] }
            return end(WebSocketClosure(code: nil))
        case .requested, .opening: return [.abort(reconnector.attempt)] + end(WebSocketClosure(code: nil))
        case .open:
            connection = .closing
            reconnector.stop()
            return [.publish(.closing), .close(reconnector.attempt, code, reason: reason)]
        case .closing: return []
        }
    }

    mutating func send(_ message: WebSocketMessage, _ id: SendID) -> [Action] {
        switch reconnector.phase {
        case .open: return [.write(reconnector.attempt, id, message)]
        case .ended:
            return [.fail(id, WebSocketError(.connectionClosed, "Message not sent: the WebSocket is closed."))]
        case .idle, .opening, .asking, .waiting:
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
        guard attempt == reconnector.attempt, case .requested = connection else { return [] }
        switch result {
        case .success(let request):
            connection = .opening(retryAfter: .zero)
            address = request.description
            return [.open(attempt, request)]
        case .failure(let error): return lost(WebSocketClosure(code: nil, error: error), now: now)
        }
    }

    mutating func opened(_ attempt: Attempt, now: Duration) -> [Action] {
        guard attempt == reconnector.attempt, case .opening = connection else { return [] }
        reconnector.opened(now: now)
        connection = .open(
            Session(lastActivity: now, lastHeartbeat: now, nextCheck: configuration.heartbeat.interval.map { now + $0 })
        )
        defer { (queue, queuedBytes) = ([], 0) }
        return [.publish(.open), .sendOpeningMessages(attempt)] + queue.map { .write(attempt, $0.id, $0.message) }
    }

    /// Records how long the server wants the client to wait. The rest of the refusal follows, or the attempt times out.
    mutating func refused(_ attempt: Attempt, retryAfter: Duration) {
        guard attempt == reconnector.attempt, case .opening = connection else { return }
        connection = .opening(retryAfter: retryAfter)
    }

    /// Records the arrival of data from the server.
    mutating func activity(_ attempt: Attempt, isPong: Bool = false, now: Duration) {
        guard attempt == reconnector.attempt, case .open(var session) = connection else { return }
        // The data may have arrived before the suspension, so it does not show that the connection still works.
        if session.wasSuspended(now: now) || session.needsPong && !isPong { return }
        session.needsPong = false
        session.lastActivity = now
        session.unansweredSince = nil
        connection = .open(session)
    }

    mutating func closed(_ attempt: Attempt, _ closure: WebSocketClosure, now: Duration) -> [Action] {
        guard attempt == reconnector.attempt else { return [] }
        switch connection {
        case .opening, .open: return lost(closure, now: now)
        case .closing: return end(closure)
        case .none, .requested: return []
        }
    }

    mutating func retryDecided(_ attempt: Attempt, delay: Duration?, now: Duration) -> [Action] {
        follow(reconnector.decided(attempt, delay: delay, now: now), now: now)
    }

    /// - Parameter isPaused: Whether the client has paused reading because the app consumes messages too slowly. During
    ///   a pause, the client cannot receive an answer.
    mutating func wake(isPaused: Bool, now: Duration) -> [Action] {
        guard case .open(let session) = connection else { return follow(reconnector.wake(now: now), now: now) }
        guard let nextCheck = session.nextCheck, nextCheck <= now else { return [] }
        return heartbeat(session, isPaused: isPaused, now: now)
    }

    // MARK: Transitions

    private mutating func follow(_ action: Reconnector<WebSocketError>.Action?, now: Duration) -> [Action] {
        switch action {
        case .open(let attempt):
            connection = .requested
            return [.publish(.connecting(attempt: attempt)), .makeRequest(attempt)]
        case .timeOut(let attempt):
            let timeout = configuration.connectTimeout
            let error = WebSocketError(
                .connectionTimedOut,
                "Connection timed out: there was no connection within \(timeout.inWords).",
                address: address
            )
            return [.abort(attempt)] + lost(WebSocketClosure(code: nil, error: error), now: now)
        case .ask(let question): return [.askRetryPolicy(question)]
        case .wait(let until, let attempt, let reason):
            return [.publishWait(until: until, attempt: attempt, reason: reason)]
        case .stop(let reason):
            guard case .none(var closure) = connection else { return [] }
            closure.error = reason
            return end(closure)
        case nil: return []
        }
    }

    /// Checks whether the server has answered the heartbeat, and sends the next heartbeat if it is due.
    private mutating func heartbeat(_ session: Session, isPaused: Bool, now: Duration) -> [Action] {
        guard let interval = configuration.heartbeat.interval else { return [] }
        var session = session
        let timeout = configuration.heartbeat.timeout
        // The server had no chance to answer an earlier heartbeat, so the client asks again.
        let wasSuspended = session.wasSuspended(now: now)
        if wasSuspended {
            session.unansweredSince = nil
            // Any data can be the answer to a message.
            session.needsPong = configuration.heartbeat.text == nil
        }
        if let since = session.unansweredSince, now - since >= timeout {
            guard isPaused else {
                let error = WebSocketError(
                    .pongTimedOut,
                    "Connection lost: the server did not answer a ping within \(timeout.inWords).",
                    address: address
                )
                return [.abort(reconnector.attempt)] + lost(WebSocketClosure(code: nil, error: error), now: now)
            }
            // While the client has paused reading, it cannot receive an answer. The next heartbeat begins a new wait.
            session.unansweredSince = nil
        }
        var actions: [Action] = []
        if wasSuspended || session.nextHeartbeat(configuration.heartbeat, interval) <= now {
            session.lastHeartbeat = now
            session.unansweredSince = session.unansweredSince ?? now
            actions = [.sendHeartbeat(reconnector.attempt)]
        }
        let next = session.nextHeartbeat(configuration.heartbeat, interval)
        session.nextCheck = session.unansweredSince.map { min(next, $0 + timeout) } ?? next
        connection = .open(session)
        return actions
    }

    private mutating func lost(_ closure: WebSocketClosure, now: Duration) -> [Action] {
        if reconnector.hasLasted(now: now) { reconnector.resetBackOff() }
        let retryAfter = if case .opening(let delay) = connection { delay } else { Duration.zero }
        connection = .none(closure)
        let reason = WebSocketError(closure, of: address)
        let reaction: Reconnector<WebSocketError>.Reaction =
            reason.code.isPermanent ? .stop : .ask(minimumDelay: retryAfter)
        return follow(reconnector.lost(reason, reaction, now: now), now: now)
    }

    private mutating func end(_ closure: WebSocketClosure) -> [Action] {
        reconnector.stop()
        connection = .none(closure)
        let error = closure.error ?? WebSocketError(.connectionClosed, "Message not sent: the WebSocket is closed.")
        defer { (queue, queuedBytes) = ([], 0) }
        return queue.map { .fail($0.id, error) } + [.finish(closure)]
    }
}

extension WebSocketError {
    /// Creates the error for a connection that was closed.
    ///
    /// - Parameter address: The server's address, without secrets.
    init(_ closure: WebSocketClosure, of address: String? = nil) {
        if let error = closure.error {
            self = error
        } else {
            let code = closure.code.map { " with code \($0)" } ?? ""
            let reason = closure.reason.isEmpty ? "" : " and the reason \(closure.reason.quoted)"
            self.init(
                .connectionClosed,
                "Connection lost: the server closed it\(code)\(reason).",
                closeCode: closure.code,
                address: address
            )
        }
    }
}
