/// The transitions from an attempt to the handshake, and from a loss to the next attempt.
extension HubStateMachine {
    /// The times at which the client tries to resume the connection, counted from the loss.
    static let resumeTimes: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(6)]
    static let resumeDeadline = Duration.seconds(10)
    static let acknowledgementDelay = Duration.seconds(1)

    // MARK: Inputs of the transport

    package mutating func opened(_ id: AttemptID, _ info: TransportInfo, now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info == nil else { return }
            machine.attempt?.info = info
            if machine.session != nil { return machine.reopened(now: now) }
            machine.setTimer(.handshake, after: machine.configuration.handshakeTimeout)
            let request = Handshake.request(
                machine.configuration.hubProtocol,
                version: info.canBeResumed ? 2 : 1
            )
            machine.add(.write(id, request, receipt: nil))
        }
    }

    /// Handles a failed attempt to open a transport.
    package mutating func failed(_ id: AttemptID, _ failure: HubFailure, now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info == nil else { return }
            machine.attempt = nil
            if machine.session == nil {
                machine.attemptFailed(failure, now: now)
            } else {
                machine.reopenFailed(isForgotten: failure.isNotFound, now: now)
            }
        }
    }

    /// Handles the end of the transport. The failure is `nil` if the server closed the transport properly.
    package mutating func closed(_ id: AttemptID, _ failure: HubFailure?, now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info != nil else { return }
            machine.attempt = nil
            switch machine.phase {
            case .connected:
                if machine.session?.resumption != nil {
                    machine.linkLost(now: now)
                } else {
                    machine.lost(failure, now: now)
                }
            case .stopping: machine.closingEnded(now: now)
            case .starting, .reconnecting:
                let reason = HubFailure.client(.transportClosed, "Handshake failed: the connection was closed.")
                machine.attemptFailed(failure ?? reason, now: now)
            case .stopped, .asking, .waiting: break
            }
        }
    }

    package mutating func received(_ id: AttemptID, _ bytes: [UInt8], now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info != nil else { return }
            if case .stopping = machine.phase { return }
            machine.session?.lastReceived = now
            machine.attempt?.reader.append(bytes)
            do throws(HubProtocolViolation) {
                // A message can end the attempt. The machine ignores all messages after such a message.
                while machine.attempt?.id == id, let frame = try machine.attempt?.reader.next() {
                    if case .stopping = machine.phase { return }
                    try machine.handle(frame, now: now)
                }
            } catch {
                if machine.session == nil {
                    machine.attemptFailed(error.failure, now: now)
                } else {
                    machine.lost(error.failure, now: now)
                }
            }
        }
    }

    package mutating func retryDecided(_ id: QuestionID, delay: Duration?, now: Duration) -> [Action] {
        collect { machine in
            guard case .asking(var outage, id) = machine.phase else { return }
            guard let delay else { return machine.stopTrying(outage) }
            let time = now + max(delay, .zero)
            if outage.start != nil {
                // The first attempt has the number 1, and the first retry has the number 0. Attempt 1 is not a retry,
                // so retry 0 is attempt 2.
                let attempt = outage.retryCount + 2
                machine.add(.publish(.connecting(attempt: attempt, at: time, reason: outage.reason)))
            } else {
                if !outage.isAnnounced { machine.add(.announceReconnecting(outage.reason)) }
                outage.isAnnounced = true
                let attempt = outage.retryCount + 1
                machine.add(.publish(.reconnecting(attempt: attempt, at: time, reason: outage.reason)))
            }
            machine.phase = .waiting(outage)
            machine.setTimer(.retry, after: time - now)
        }
    }

    // MARK: Attempts

    mutating func beginStart(_ start: Start, now: Duration) {
        phase = .starting(start)
        add(.publish(.connecting(attempt: 1, at: now, reason: nil)))
        add(.open(beginAttempt()))
    }

    mutating func retry() {
        guard case .waiting(let outage) = phase else { return }
        phase = .reconnecting(outage)
        add(.open(beginAttempt()))
    }

    private mutating func beginAttempt() -> AttemptID {
        let id = AttemptID(number: nextSerial())
        attempt = Attempt(id: id, reader: HubFrameReader(limit: configuration.maximumMessageSize))
        return id
    }

    private mutating func abortAttempt() {
        if let attempt { add(.abort(attempt.id)) }
        attempt = nil
        cancelTimer(.handshake)
    }

    /// Handles an attempt that has not led to a connection.
    mutating func attemptFailed(_ failure: HubFailure, now: Duration) {
        abortAttempt()
        switch phase {
        case .starting(let start) where start.retries && failure.mayPass:
            ask(Outage(since: start.since, reason: failure, start: start), now: now)
        case .starting: failStart(failure)
        case .reconnecting(var outage):
            outage.retryCount += 1
            outage.reason = failure
            ask(outage, now: now)
        case .stopped, .connected, .asking, .waiting, .stopping: break
        }
    }

    mutating func failStart(_ failure: HubFailure) {
        guard let start = currentStart else { return }
        abortAttempt()
        cancelTimer(.retry)
        phase = .stopped
        add(.publish(.stopped(failure)))
        add(.finishStart(start.id, failure))
    }

    /// Stops, because the retry policy allows no more attempts.
    private mutating func stopTrying(_ outage: Outage) {
        if outage.start == nil { end(outage.reason) } else { failStart(outage.reason ?? .callEnded) }
    }

    // MARK: Handshake

    private mutating func handle(_ frame: ArraySlice<UInt8>, now: Duration) throws(HubProtocolViolation) {
        if attempt?.isHandshakeDone == false {
            switch Handshake.answer(frame) {
            case .accepted: begin(now: now)
            case .refused(let reason): attemptFailed(.signalR(.handshakeError(reason)), now: now)
            case .unexpected: attemptFailed(.signalR(.expectedHandshakeResponse), now: now)
            }
        } else if let message = try configuration.hubProtocol.decode(frame) {
            handle(message, size: frame.count, now: now)
        } else {
            add(.ignored("a message of unknown type"))
        }
    }

    /// Begins a connection.
    private mutating func begin(now: Duration) {
        guard let info = attempt?.info else { return }
        cancelTimer(.handshake)
        attempt?.isHandshakeDone = true
        attempt?.reader.begin(configuration.hubProtocol)
        var session = Session(id: SessionID(number: nextSerial()), info: info, lastSent: now, lastReceived: now)
        if info.canBeResumed { session.resumption = Resumption(limit: configuration.resumptionBufferSize) }
        self.session = session
        let start = currentStart
        phase = .connected
        // The first ping tells the server to expect further pings.
        if info.needsKeepAlive { transmit(.ping, now: now) }
        beginKeepAlive()
        beginAuthentication(now: now)
        add(.publish(.connected(info)))
        if let start { add(.finishStart(start.id, nil)) } else { add(.announceReconnected) }
    }

    // MARK: Loss

    /// Handles the loss of the connection.
    mutating func lost(_ failure: HubFailure?, now: Duration) {
        endSession(failure ?? .callEnded)
        abortAttempt()
        if configuration.reconnects {
            ask(Outage(since: now, reason: failure), now: now)
        } else {
            end(failure)
        }
    }

    private mutating func ask(_ outage: Outage, now: Duration) {
        let question = QuestionID(number: nextSerial())
        phase = .asking(outage, question)
        add(
            .askRetryPolicy(
                question,
                retryCount: outage.retryCount,
                elapsed: now - outage.since,
                reason: outage.reason,
                start: outage.start?.id
            )
        )
    }

    // MARK: The end

    /// Closes the transport, and waits until it is closed.
    mutating func beginStopping(_ failure: HubFailure?, stops: [WaiterID] = [], now: Duration) {
        endSession(failure ?? .callEnded)
        guard let attempt, attempt.isHandshakeDone else { return end(failure, stops: stops) }
        phase = .stopping(Stopping(failure: failure, stops: stops))
        setTimer(.closing, after: configuration.closeTimeout)
        add(.close(attempt.id))
    }

    mutating func closingEnded(now: Duration) {
        guard case .stopping(let stopping) = phase else { return }
        cancelTimer(.closing)
        end(stopping.failure, stops: stopping.stops)
        if let start = stopping.start { beginStart(start, now: now) }
    }

    /// Stops the machine, and reports that the connection is closed.
    mutating func end(_ failure: HubFailure?, stops: [WaiterID] = []) {
        abortAttempt()
        cancelTimer(.retry)
        phase = .stopped
        add(.publish(.stopped(failure)))
        add(.announceClosed(failure))
        for stop in stops { add(.finishStop(stop)) }
    }

    private mutating func endSession(_ failure: HubFailure) {
        guard let session else { return }
        self.session = nil
        for kind: TimerID.Kind in [.keepAlive, .serverTimeout, .acknowledgement, .resume, .resumeDeadline] {
            cancelTimer(kind)
        }
        // The code sorts the ids, so equal inputs lead to equal actions.
        for upload in session.uploads.keys.sorted(by: { $0.number < $1.number }) { add(.cancelUpload(upload)) }
        for held in session.resumption?.held ?? [] {
            if let receipt = held.receipt { add(.finishSend(receipt, failure)) }
        }
        endRefreshes(of: session, failure)
        for call in session.calls.keys.sorted(by: { $0.number < $1.number }) {
            add(.finishCall(call, .failure(failure)))
        }
    }

    // MARK: Keep-alive

    mutating func beginKeepAlive() {
        guard session?.info.needsKeepAlive == true else { return }
        setTimer(.keepAlive, after: configuration.keepAliveInterval)
        setTimer(.serverTimeout, after: configuration.serverTimeout)
    }

    /// Sends a ping if the client has sent no message for the interval. The timer checks the time of the last message,
    /// because a restart at each message would be expensive.
    mutating func keepAlive(now: Duration) {
        guard let session else { return }
        let due = session.lastSent + configuration.keepAliveInterval
        if due <= now { transmit(.ping, now: now) }
        setTimer(.keepAlive, after: due <= now ? configuration.keepAliveInterval : due - now)
    }

    mutating func checkServerTimeout(now: Duration) {
        guard let session else { return }
        let due = session.lastReceived + configuration.serverTimeout
        if due <= now {
            lost(.signalR(.serverTimeout(configuration.serverTimeout / .seconds(1))), now: now)
        } else {
            setTimer(.serverTimeout, after: due - now)
        }
    }

    // MARK: Resuming

    /// Handles the loss of the transport of a resumable connection.
    private mutating func linkLost(now: Duration) {
        let link: Resumption.Link
        switch session?.resumption?.link {
        case .up:
            link = .down(since: now, tries: 0)
            for kind: TimerID.Kind in [.keepAlive, .serverTimeout, .acknowledgement] { cancelTimer(kind) }
            if let info = session?.info { add(.publish(.resuming(info))) }
            setTimer(.resumeDeadline, after: Self.resumeDeadline)
        case .synchronizing(let since, let tries): link = .down(since: since, tries: tries)
        case .down, nil: return
        }
        session?.resumption?.link = link
        scheduleReopen(now: now)
    }

    private mutating func scheduleReopen(now: Duration) {
        guard case .down(let since, let tries) = session?.resumption?.link else { return }
        guard Self.resumeTimes.indices.contains(tries) else { return resumptionFailed(now: now) }
        setTimer(.resume, after: since + Self.resumeTimes[tries] - now)
    }

    mutating func reopen() {
        guard case .down(let since, let tries) = session?.resumption?.link else { return }
        session?.resumption?.link = .down(since: since, tries: tries + 1)
        add(.reopen(beginAttempt()))
    }

    private mutating func reopenFailed(isForgotten: Bool, now: Duration) {
        if isForgotten { resumptionFailed(now: now) } else { scheduleReopen(now: now) }
    }

    /// Continues over a new transport. The client first sends the number of its next message, and then all messages
    /// that the server may not have received.
    private mutating func reopened(now: Duration) {
        guard case .down(let since, let tries) = session?.resumption?.link, let resumption = session?.resumption else {
            return
        }
        session?.resumption?.link = .synchronizing(since: since, tries: tries)
        attempt?.isHandshakeDone = true
        attempt?.reader.begin(configuration.hubProtocol)
        transmit(.sequence(resumption.firstToSend), now: now)
        for sent in resumption.unacknowledged { write(sent.bytes, receipt: nil, now: now) }
    }

    /// Handles the server's Sequence message, which contains the number of the server's next message.
    mutating func synchronized(_ number: UInt64, now: Duration) {
        guard session?.resumption?.synchronize(number) == true else {
            let text = "Sequence ID greater than amount of messages we've received."
            return lost(.client(.sequenceError, text), now: now)
        }
        guard case .synchronizing = session?.resumption?.link, let info = session?.info else { return }
        session?.resumption?.link = .up
        cancelTimer(.resumeDeadline)
        beginKeepAlive()
        add(.publish(.resumed(info)))
        // Losses can follow each other in less than the delay of an acknowledgement. Without this acknowledgement, the
        // server's buffer would then fill.
        acknowledge(now: now)
        sendHeld(now: now)
    }

    mutating func resumptionFailed(now: Duration) {
        lost(.client(.transportClosed, "Connection lost: the client could not resume it."), now: now)
    }

    /// Acknowledges all messages so far. Without a transport, the acknowledgement follows the resumption.
    mutating func acknowledge(now: Duration) {
        guard case .up = session?.resumption?.link else { return }
        cancelTimer(.acknowledgement)
        if let latest = session?.resumption?.acknowledge() { transmit(.ack(latest), now: now) }
    }
}

extension HubFailure {
    /// Whether a later attempt with the same settings can succeed.
    fileprivate var mayPass: Bool {
        switch self {
        case .signalR(.invalidUrl): false
        case .client(let error) where error.code == .pinMismatch: false
        case .client, .signalR, .cancelled: true
        }
    }

    /// Whether the server has dropped the connection.
    fileprivate var isNotFound: Bool {
        switch self {
        case .signalR(.unexpectedResponseCode(404)): true
        case .client(let error): error.httpStatus == 404
        case .signalR, .cancelled: false
        }
    }
}
