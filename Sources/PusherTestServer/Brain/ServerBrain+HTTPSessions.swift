/// Connections over HTTP. The server writes the frames of such a connection to HTTP responses.
extension ServerBrain {
    /// The limit for bytes in transit to a client. Further bytes wait in the session.
    private static let window = 65_536
    private static let prelude = HTTPSession.Line(
        kind: .filler,
        bytes: Array(repeating: UInt8(ascii: "h"), count: 2_048) + [UInt8(ascii: "\n")]
    )

    /// Sends all frames that the current input has queued. The engine calls this for ``ServerAction/flushSession(_:)``.
    package mutating func flush(_ id: ConnectionID) -> [ServerAction] {
        connections[id]?.http?.isFlushRequested = false
        flushSession(id)
        return takeActions()
    }

    /// Queues a frame for a client over HTTP.
    mutating func append(_ item: HTTPSession.Item, toSessionOf id: ConnectionID) {
        openSession(id)
        connections[id]?.http?.append(item)
        requestFlush(id)
    }

    /// Queues the open frame, once for each session.
    mutating func openSession(_ id: ConnectionID) {
        guard connections[id]?.http?.hasOpened == false, connections[id]?.phase != .stalled else { return }
        connections[id]?.http?.hasOpened = true
        connections[id]?.http?.append(.open(hostname: options.httpTransports.hostname))
        requestFlush(id)
    }

    private mutating func requestFlush(_ id: ConnectionID) {
        guard connections[id]?.http?.isFlushRequested == false else { return }
        connections[id]?.http?.isFlushRequested = true
        perform(.flushSession(id))
    }

    // MARK: The receiving request

    mutating func attach(_ request: RequestID, to id: ConnectionID, isStreaming: Bool) {
        cancel(connections[id]?.http?.disconnectTimer)
        connections[id]?.http?.disconnectTimer = nil
        connections[id]?.http?.isStreaming = isStreaming
        connections[id]?.http?.receiver = .init(request, isStreaming: isStreaming)
        receivers[request] = id
        beginReceiving(id)
    }

    /// Schedules the heartbeat, and begins the response if the request is for a stream.
    mutating func beginReceiving(_ id: ConnectionID) {
        guard let receiver = connections[id]?.http?.receiver else { return }
        connections[id]?.http?.receiver?.lastWrite = now
        scheduleHeartbeat(of: id, after: options.httpTransports.heartbeatInterval)
        guard receiver.isStreaming else { return }
        beginResponse(of: id)
        if options.httpTransports.sendsPrelude { write(Self.prelude, to: id) }
    }

    private mutating func beginResponse(of id: ConnectionID) {
        guard let receiver = connections[id]?.http?.receiver, !receiver.hasBegun else { return }
        connections[id]?.http?.receiver?.hasBegun = true
        begin(receiver.request)
    }

    /// Detaches a receiver whose response has ended. Frames that did not reach the client wait for the next response.
    mutating func detach(_ request: RequestID, from id: ConnectionID) {
        if connections[id]?.http?.replaced?.request == request { return detachReplaced(of: id) }
        guard let receiver = removeReceiver(of: id) else { return }
        if connections[id]?.phase == .stalled { return endSession(id, isRemembered: false) }
        if connections[id]?.http?.isCloseDelivered == true { return endSession(id, isRemembered: true) }
        connections[id]?.http?.requeue(receiver.undelivered)
        let (delay, moveTime) = (options.httpTransports.disconnectDelay, options.httpTransports.moveTime)
        // A client that has not moved in time may read slowly: see `awaitReplaced`.
        let timer = schedule(.disconnect(id), after: receiver.isWaitingForMove ? max(delay, moveTime * 2) : delay)
        connections[id]?.http?.disconnectTimer = timer
        // If the queue contains only the end of the session, `flushSession` ends the session.
        flushSession(id)
    }

    /// Ends the receiver's response, because a newer request replaces the receiver.
    ///
    /// Some clients read the old response to its end, and others close it. So the new response gets no frames until
    /// the old response has ended.
    mutating func replaceReceiver(of id: ConnectionID) {
        releaseHeldBytes(of: id)
        guard let receiver = removeReceiver(of: id) else { return }
        endResponse(of: receiver)
        guard receiver.undelivered.contains(where: { $0.kind != .filler }) else { return }
        receivers[receiver.request] = id
        connections[id]?.http?.replaced = receiver
        awaitReplaced(of: id)
    }

    /// Limits the time in which the client reads nothing of the replaced response. The limit is twice the time for a
    /// move, because it must exceed the longest pause of a client that applies back-pressure.
    mutating func awaitReplaced(of id: ConnectionID) {
        guard let replaced = connections[id]?.http?.replaced else { return }
        cancel(replaced.moveTimer)
        let timer = scheduleMove(of: id, after: options.httpTransports.moveTime * 2)
        connections[id]?.http?.replaced?.moveTimer = timer
    }

    /// Handles the end of the replaced response.
    private mutating func detachReplaced(of id: ConnectionID) {
        guard let replaced = removeReplaced(of: id) else { return }
        if connections[id]?.http?.isCloseDelivered == true { return dropSession(id) }
        connections[id]?.http?.requeue(replaced.undelivered)
        flushSession(id)
    }

    @discardableResult
    mutating func removeReplaced(of id: ConnectionID) -> HTTPSession.Receiver? {
        guard let replaced = connections[id]?.http?.replaced else { return nil }
        cancel(replaced.moveTimer)
        receivers[replaced.request] = nil
        connections[id]?.http?.replaced = nil
        return replaced
    }

    mutating func endResponse(of receiver: HTTPSession.Receiver) {
        guard !receiver.isFinished else { return }
        if !receiver.hasBegun {
            begin(receiver.request)
            perform(.write(receiver.request, Array("h\n".utf8)))
        }
        perform(.endResponse(receiver.request))
    }

    private mutating func removeReceiver(of id: ConnectionID) -> HTTPSession.Receiver? {
        guard let receiver = connections[id]?.http?.receiver else { return nil }
        cancel(receiver.heartbeatTimer)
        cancel(receiver.moveTimer)
        receivers[receiver.request] = nil
        connections[id]?.http?.receiver = nil
        return receiver
    }

    // MARK: Writing

    // The methods below change the session in place, because a copy would copy the whole queue.

    mutating func flushSession(_ id: ConnectionID) {
        guard let waiting = connections[id]?.http?.waitingBytes, connections[id]?.phase != .stalled else { return }
        if waiting > options.httpTransports.maximumQueueSize {
            record(.sessionLost, id)
            dropSession(id)
        } else if connections[id]?.http?.replaced != nil {
            return  // `detachReplaced` continues.
        } else if connections[id]?.http?.canWrite != true {
            if connections[id]?.http?.next == .end { endSession(id, isRemembered: true) }
        } else if connections[id]?.http?.isStreaming == true {
            stream(id)
        } else {
            answerPoll(id)
        }
    }

    private mutating func stream(_ id: ConnectionID) {
        let limit = options.httpTransports.streamLimit
        while connections[id]?.http?.receiver?.mayStream(window: Self.window) == true {
            guard let line = connections[id]?.http?.takeLine() else {
                if connections[id]?.http?.next == .end { dropSession(id) }
                return
            }
            write(line, to: id)
            if line.kind == .close { return finishResponse(of: id) }
            guard let length = connections[id]?.http?.receiver?.length, length > limit else { continue }
            releaseHeldBytes(of: id)
            connections[id]?.http?.receiver?.isWaitingForMove = true
            let timer = scheduleMove(of: id, after: options.httpTransports.moveTime)
            connections[id]?.http?.receiver?.moveTimer = timer
        }
    }

    private mutating func scheduleMove(of id: ConnectionID, after delay: Duration) -> TimerID {
        schedule(.move(id), after: max(delay, .milliseconds(1)))
    }

    private mutating func answerPoll(_ id: ConnectionID) {
        guard connections[id]?.http?.next != nil else { return }
        var length = 0
        while length < HTTPSession.maximumLineLength, let line = connections[id]?.http?.takeLine() {
            beginResponse(of: id)
            write(line, to: id)
            length += line.bytes.count
            // In SockJS, the answer to the first poll contains only the open frame.
            if line.kind != .frame { break }
        }
        guard connections[id]?.http?.receiver?.hasBegun == true else { return dropSession(id) }
        finishResponse(of: id)
        if connections[id]?.http?.next == .end { endSession(id, isRemembered: true) }
    }

    private mutating func write(_ line: HTTPSession.Line, to id: ConnectionID) {
        connections[id]?.http?.receiver?.note(line)
        connections[id]?.http?.receiver?.lastWrite = now
        connections[id]?.http?.receiver?.held += line.bytes
        let held = connections[id]?.http?.receiver?.held.count ?? 0
        if let limit = streamBuffer, connections[id]?.http?.isStreaming == true, held < limit { return }
        releaseHeldBytes(of: id)
    }

    mutating func releaseHeldBytes(of id: ConnectionID) {
        guard let receiver = connections[id]?.http?.receiver, !receiver.held.isEmpty else { return }
        connections[id]?.http?.receiver?.held = []
        connections[id]?.http?.receiver?.bytesUnderWay += receiver.held.count
        perform(.write(receiver.request, receiver.held))
    }

    /// Ends the response. The engine calls ``requestEnded(_:)`` when the response has reached the client.
    mutating func finishResponse(of id: ConnectionID) {
        guard let receiver = connections[id]?.http?.receiver, !receiver.isFinished else { return }
        releaseHeldBytes(of: id)
        cancel(receiver.heartbeatTimer)
        connections[id]?.http?.receiver?.isFinished = true
        perform(.endResponse(receiver.request))
    }

    // MARK: Endings

    /// Ends the session. Also closes the TCP connection of the open receiving request, after sending the written bytes.
    mutating func dropSession(_ id: ConnectionID) {
        releaseHeldBytes(of: id)
        if let receiver = connections[id]?.http?.receiver, !receiver.isFinished { perform(.drop(receiver.request)) }
        endSession(id, isRemembered: true)
    }

    /// - Parameter isRemembered: Whether the server answers later requests with 404. If false, a receiving request
    ///   opens a new session.
    mutating func endSession(_ id: ConnectionID, isRemembered: Bool) {
        guard let session = connections[id]?.http else { return }
        _ = removeReceiver(of: id)
        if let replaced = removeReplaced(of: id) { perform(.abandon(replaced.request)) }
        cancel(session.disconnectTimer)
        sessions[session.name] = nil
        if isRemembered { lostSessions.insert(session.name) }
        endConnection(id)
    }

    // MARK: Timers

    private mutating func scheduleHeartbeat(of id: ConnectionID, after delay: Duration) {
        let timer = schedule(.heartbeat(id), after: max(delay, .milliseconds(1)))
        connections[id]?.http?.receiver?.heartbeatTimer = timer
    }

    mutating func heartbeatTimerFired(on id: ConnectionID) {
        guard let connection = connections[id], let receiver = connection.http?.receiver, !receiver.isFinished
        else { return }
        let interval = options.httpTransports.heartbeatInterval
        // The timer may fire too early, because frames do not restart the timer.
        let rest = receiver.lastWrite + interval - now
        guard rest <= .zero else { return scheduleHeartbeat(of: id, after: rest) }
        if receiver.isStreaming { scheduleHeartbeat(of: id, after: interval) }
        if connection.isSilent || connection.http?.hasOpened != true || receiver.isWaitingForMove
            || connection.http?.replaced != nil
        {
            if !receiver.isStreaming { scheduleHeartbeat(of: id, after: interval) }
            return
        }
        connections[id]?.http?.append(.heartbeat)
        flushSession(id)
    }

    mutating func moveTimerFired(on id: ConnectionID) {
        if let replaced = connections[id]?.http?.replaced {
            // The client has stopped reading the response, and has not closed it.
            perform(.abandon(replaced.request))
            return detachReplaced(of: id)
        }
        // The client may not have read the response yet, so more frames in it could be lost when the client moves.
        finishResponse(of: id)
    }
}

/// The names of the sessions that ended most recently.
struct LostSessions: Sendable {
    private var names: Set<String> = []
    private var order: [String] = []
    private static let limit = 1_024

    func contains(_ name: String) -> Bool { names.contains(name) }

    mutating func insert(_ name: String) {
        guard names.insert(name).inserted else { return }
        order.append(name)
        if order.count > Self.limit { names.remove(order.removeFirst()) }
    }
}
