import RealtimePrimitives

/// The transitions from an attempt to the handshake, and from a loss to the next attempt.
extension HubStateMachine {
    /// The times at which the client tries to resume the connection, counted from the loss.
    static let resumeTimes: [Duration] = [.zero, .seconds(1), .seconds(3), .seconds(6)]
    static let resumeDeadline = Duration.seconds(10)
    static let acknowledgementDelay = Duration.seconds(1)
    /// The time after a suspension in which the client reads what has waited in buffers.
    private static let bufferedDataTime = Duration.seconds(1)

    // MARK: Inputs of the transport

    package mutating func opened(_ id: AttemptID, _ info: TransportInfo, now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info == nil else { return }
            machine.attempt?.info = info
            if machine.session != nil { return machine.reopened(now: now) }
            machine.waits[.handshake] = now + machine.configuration.handshakeTimeout
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
            if machine.stopping != nil { return machine.closingEnded(now: now) }
            switch machine.reconnector.phase {
            case .open:
                if machine.session?.resumption != nil {
                    machine.linkLost(now: now)
                } else {
                    machine.lost(failure, now: now)
                }
            case .opening:
                let reason = HubFailure.client(.transportClosed, "Handshake failed: the connection was closed.")
                machine.attemptFailed(failure ?? reason, now: now)
            case .idle, .asking, .waiting, .ended: break
            }
        }
    }

    package mutating func received(_ id: AttemptID, _ bytes: [UInt8], now: Duration) -> [Action] {
        collect { machine in
            guard machine.attempt?.id == id, machine.attempt?.info != nil else { return }
            if machine.stopping != nil { return }
            machine.dataArrived(now: now)
            machine.attempt?.reader.append(bytes)
            do throws(HubProtocolViolation) {
                // A message can end the attempt. The machine ignores all messages after such a message.
                while machine.attempt?.id == id, let frame = try machine.attempt?.reader.next() {
                    if machine.stopping != nil { return }
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

    package mutating func retryDecided(_ attempt: Int, delay: Duration?, now: Duration) -> [Action] {
        collect { $0.follow($0.reconnector.decided(attempt, delay: delay, now: now)) }
    }

    // MARK: Attempts

    mutating func beginStart(_ start: Start, now: Duration) {
        self.start = start
        earlierAttempts = reconnector.attempt
        follow(reconnector.open(now: start.since))
    }

    mutating func follow(_ action: Reconnector<HubFailure?>.Action?) {
        switch action {
        case .open(let attempt):
            add(.publish(.connecting(attempt: attempt - earlierAttempts)))
            add(.open(beginAttempt()))
        case .ask(let question): add(.askRetryPolicy(question, start: start?.id))
        case .wait(let time, let attempt, let reason):
            if start == nil, !isOutageAnnounced {
                isOutageAnnounced = true
                add(.announceReconnecting(reason))
            }
            add(.publish(.waiting(until: time, attempt: attempt - earlierAttempts, reason: reason)))
        case .stop(let reason): if start == nil { end(reason) } else { failStart(reason ?? .callEnded) }
        // The transport has its own time limits.
        case .timeOut, nil: break
        }
    }

    private mutating func beginAttempt() -> AttemptID {
        let id = AttemptID(number: nextSerial())
        attempt = Attempt(id: id, reader: HubFrameReader(limit: configuration.maximumMessageSize))
        return id
    }

    private mutating func abortAttempt() {
        if let attempt { add(.abort(attempt.id)) }
        attempt = nil
        waits[.handshake] = nil
    }

    /// Handles an attempt that has not led to a connection.
    mutating func attemptFailed(_ failure: HubFailure, now: Duration) {
        abortAttempt()
        guard case .opening = reconnector.phase else { return }
        if let start, reconnector.retryCount == 0, !start.retries || !failure.mayPass { return failStart(failure) }
        follow(reconnector.lost(failure, .ask(minimumDelay: failure.retryAfter), now: now))
    }

    mutating func failStart(_ failure: HubFailure) {
        guard let start else { return }
        abortAttempt()
        reconnector.stop()
        self.start = nil
        add(.publish(.stopped(failure)))
        add(.finishStart(start.id, failure))
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
        waits[.handshake] = nil
        attempt?.isHandshakeDone = true
        attempt?.reader.begin(configuration.hubProtocol)
        var session = Session(id: SessionID(number: nextSerial()), info: info, lastSent: now, lastReceived: now)
        if info.canBeResumed { session.resumption = Resumption(limit: configuration.resumptionBufferSize) }
        self.session = session
        let start = start
        self.start = nil
        reconnector.opened(now: now)
        // The first ping tells the server to expect further pings.
        if info.needsKeepAlive { transmit(.ping, now: now) }
        beginKeepAlive(now: now)
        beginAuthentication(now: now)
        add(.publish(.connected(info)))
        if let start { add(.finishStart(start.id, nil)) } else { add(.announceReconnected) }
    }

    // MARK: Loss

    /// Handles the loss of the connection.
    mutating func lost(_ failure: HubFailure?, now: Duration) {
        endSession(failure ?? .callEnded)
        abortAttempt()
        guard configuration.reconnects else { return end(failure) }
        reconnector.resetBackOff()
        isOutageAnnounced = false
        follow(reconnector.lost(failure, .ask(), now: now))
    }

    // MARK: The end

    /// Closes the transport, and waits until it is closed.
    mutating func beginStopping(_ failure: HubFailure?, stops: [WaiterID] = [], now: Duration) {
        endSession(failure ?? .callEnded)
        guard let attempt, attempt.isHandshakeDone else { return end(failure, stops: stops) }
        stopping = Stopping(failure: failure, stops: stops)
        reconnector.stop()
        waits[.closing] = now + configuration.closeTimeout
        add(.close(attempt.id))
    }

    mutating func closingEnded(now: Duration) {
        guard let stopping else { return }
        waits[.closing] = nil
        end(stopping.failure, stops: stopping.stops)
        if let start = stopping.start { beginStart(start, now: now) }
    }

    /// Stops the machine, and reports that the connection is closed.
    mutating func end(_ failure: HubFailure?, stops: [WaiterID] = []) {
        abortAttempt()
        stopping = nil
        reconnector.stop()
        add(.publish(.stopped(failure)))
        add(.announceClosed(failure))
        for stop in stops { add(.finishStop(stop)) }
    }

    private mutating func endSession(_ failure: HubFailure) {
        guard let session else { return }
        self.session = nil
        for purpose: WaitPurpose in [.keepAlive, .serverTimeout, .acknowledgement, .resume, .resumeDeadline] {
            waits[purpose] = nil
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

    mutating func beginKeepAlive(now: Duration) {
        guard session?.info.needsKeepAlive == true else { return }
        waits[.keepAlive] = now + configuration.keepAliveInterval
        waits[.serverTimeout] = now + configuration.serverTimeout
    }

    /// Sends a ping if the client has sent no message for the interval. The time of this check does not change with each
    /// message, because that would be expensive.
    mutating func keepAlive(now: Duration) {
        guard let session else { return }
        let due = session.lastSent + configuration.keepAliveInterval
        if due <= now { transmit(.ping, now: now) }
        waits[.keepAlive] = due <= now ? now + configuration.keepAliveInterval : due
    }

    /// Records the arrival of data, unless it may have waited in a buffer since before a suspension.
    ///
    /// If the silence before the data was too long, the client sends a ping, which lets a server that has dropped the
    /// connection say so. A server that has not dropped it sends a ping of its own within half the server timeout.
    private mutating func dataArrived(now: Duration) {
        guard let session else { return }
        if let ignored = session.ignoresDataUntil, now < ignored { return }
        let check = waits[.serverTimeout] ?? now
        guard now - check > Suspension.checkInterval else {
            self.session?.lastReceived = now
            return
        }
        guard now - session.lastReceived >= configuration.serverTimeout else { return }
        let start = now + Self.bufferedDataTime
        self.session?.ignoresDataUntil = start
        self.session?.lastReceived = start - configuration.serverTimeout / 2
        waits[.serverTimeout] = start + configuration.serverTimeout / 2
        transmit(.ping, now: now)
    }

    mutating func checkServerTimeout(now: Duration) {
        guard let session else { return }
        let due = session.lastReceived + configuration.serverTimeout
        if due <= now {
            lost(.signalR(.serverTimeout(configuration.serverTimeout / .seconds(1))), now: now)
        } else {
            waits[.serverTimeout] = due
        }
    }

    // MARK: Resuming

    /// Handles the loss of the transport of a resumable connection.
    private mutating func linkLost(now: Duration) {
        let link: Resumption.Link
        switch session?.resumption?.link {
        case .up:
            link = .down(since: now, tries: 0)
            for purpose: WaitPurpose in [.keepAlive, .serverTimeout, .acknowledgement] { waits[purpose] = nil }
            if let info = session?.info { add(.publish(.resuming(info))) }
            waits[.resumeDeadline] = now + Self.resumeDeadline
        case .synchronizing(let since, let tries): link = .down(since: since, tries: tries)
        case .down, nil: return
        }
        session?.resumption?.link = link
        scheduleReopen(now: now)
    }

    private mutating func scheduleReopen(now: Duration) {
        guard case .down(let since, let tries) = session?.resumption?.link else { return }
        guard Self.resumeTimes.indices.contains(tries) else { return resumptionFailed(now: now) }
        waits[.resume] = max(since + Self.resumeTimes[tries], now)
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
        waits[.resumeDeadline] = nil
        beginKeepAlive(now: now)
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
        waits[.acknowledgement] = nil
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

    /// The minimum wait before the next attempt.
    fileprivate var retryAfter: Duration { if case .client(let error) = self { error.retryAfter } else { .zero } }

    /// Whether the server has dropped the connection.
    fileprivate var isNotFound: Bool {
        switch self {
        case .signalR(.unexpectedResponseCode(404)): true
        case .client(let error): error.httpStatus == 404
        case .signalR, .cancelled: false
        }
    }
}
