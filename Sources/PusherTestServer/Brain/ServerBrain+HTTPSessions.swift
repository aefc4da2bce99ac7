/// Connections over HTTP: how frames get into responses.
extension ServerBrain {
    /// The most bytes that may be on their way to a client. The rest waits in the session.
    private static let window = 65_536
    private static let prelude = HTTPSession.Line(
        kind: .filler,
        bytes: Array(repeating: UInt8(ascii: "h"), count: 2_048) + [UInt8(ascii: "\n")]
    )

    /// Sends everything from the current input together, as requested by ``ServerAction/flushSession(_:)``.
    package mutating func flush(_ id: ConnectionID) -> [ServerAction] {
        connections[id]?.http?.isFlushRequested = false
        flushSession(id)
        return takeActions()
    }

    /// All frames for a client over HTTP go through this method.
    mutating func append(_ item: HTTPSession.Item, toSessionOf id: ConnectionID) {
        openSession(id)
        connections[id]?.http?.append(item)
        requestFlush(id)
    }

    /// Called once for a session, before anything else.
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

    /// Begins the response, if it is one that stays open.
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

    /// Ends the response. Frames that did not reach the client wait for the next one.
    mutating func detachReceiver(of id: ConnectionID) {
        guard let receiver = removeReceiver(of: id) else { return }
        if connections[id]?.phase == .stalled { return endSession(id, isRemembered: false) }
        if connections[id]?.http?.isCloseDelivered == true { return endSession(id, isRemembered: true) }
        connections[id]?.http?.requeue(receiver.undelivered)
        let timer = schedule(.disconnect(id), after: options.httpTransports.disconnectDelay)
        connections[id]?.http?.disconnectTimer = timer
        // The end may be all that is left.
        flushSession(id)
    }

    /// Replaces the receiver by a newer request.
    mutating func replaceReceiver(of id: ConnectionID) {
        guard let receiver = removeReceiver(of: id) else { return }
        connections[id]?.http?.requeue(receiver.undelivered)
        if !receiver.undelivered.isEmpty {
            perform(.abandon(receiver.request))
        } else if !receiver.isFinished {
            if !receiver.hasBegun {
                begin(receiver.request)
                perform(.write(receiver.request, Array("h\n".utf8)))
            }
            perform(.endResponse(receiver.request))
        }
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

    // The session is changed in place, because a copy would copy the whole queue.

    mutating func flushSession(_ id: ConnectionID) {
        guard let waiting = connections[id]?.http?.waitingBytes, connections[id]?.phase != .stalled else { return }
        if waiting > options.httpTransports.maximumQueueSize {
            record(.sessionLost, id)
            dropSession(id)
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
            guard connections[id]?.http?.receiver?.mustWaitForMove(limit: limit) == true else { continue }
            releaseHeldBytes(of: id)
            connections[id]?.http?.receiver?.isWaitingForMove = true
            let timer = schedule(.move(id), after: max(options.httpTransports.moveTime, .milliseconds(1)))
            connections[id]?.http?.receiver?.moveTimer = timer
        }
    }

    private mutating func answerPoll(_ id: ConnectionID) {
        guard connections[id]?.http?.next != nil else { return }
        var length = 0
        while length < HTTPSession.maximumLineLength, let line = connections[id]?.http?.takeLine() {
            beginResponse(of: id)
            write(line, to: id)
            length += line.bytes.count
            // In SockJS, the answer to the first poll contains nothing else.
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

    /// The response ends. ``requestEnded(_:)`` follows when it has reached the client.
    mutating func finishResponse(of id: ConnectionID) {
        guard let receiver = connections[id]?.http?.receiver, !receiver.isFinished else { return }
        releaseHeldBytes(of: id)
        cancel(receiver.heartbeatTimer)
        connections[id]?.http?.receiver?.isFinished = true
        perform(.endResponse(receiver.request))
    }

    // MARK: Endings

    /// Ends TCP of the receiving request after everything that was written, and with it the session.
    mutating func dropSession(_ id: ConnectionID) {
        releaseHeldBytes(of: id)
        if let receiver = connections[id]?.http?.receiver, !receiver.isFinished { perform(.drop(receiver.request)) }
        endSession(id, isRemembered: true)
    }

    /// - Parameter isRemembered: Whether later requests are answered with 404. If not, a receiving request opens a new
    ///   session.
    mutating func endSession(_ id: ConnectionID, isRemembered: Bool) {
        guard let session = connections[id]?.http else { return }
        _ = removeReceiver(of: id)
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
        // Not restarted for each frame.
        let rest = receiver.lastWrite + interval - now
        guard rest <= .zero else { return scheduleHeartbeat(of: id, after: rest) }
        if receiver.isStreaming { scheduleHeartbeat(of: id, after: interval) }
        if connection.isSilent || connection.http?.hasOpened != true || receiver.isWaitingForMove {
            if !receiver.isStreaming { scheduleHeartbeat(of: id, after: interval) }
            return
        }
        connections[id]?.http?.append(.heartbeat)
        flushSession(id)
    }

    mutating func moveTimerFired(on id: ConnectionID) {
        connections[id]?.http?.receiver?.passLimit(options.httpTransports.streamLimit)
        flushSession(id)
    }
}

/// The latest of the sessions that have ended.
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
