/// The messages in both directions while there is a connection.
extension HubStateMachine {
    // MARK: Inputs of the app

    /// Calls a method that answers with one result.
    package mutating func invoke(_ id: CallID, _ invocation: HubInvocation, now: Duration) -> [Action] {
        collect { $0.call(id, .invocation, invocation, now: now) }
    }

    /// Calls a method that answers with a stream.
    package mutating func stream(_ id: CallID, _ invocation: HubInvocation, now: Duration) -> [Action] {
        collect { $0.call(id, .stream, invocation, now: now) }
    }

    /// Calls a method whose result the client does not need.
    package mutating func send(_ id: WaiterID, _ invocation: HubInvocation, now: Duration) -> [Action] {
        collect { machine in
            guard machine.session != nil else {
                return machine.add(.finishSend(id, .notConnected("send(method:arguments:)", in: machine.state)))
            }
            machine.transmit(.invocation(invocation), receipt: id, now: now)
            machine.beginUploads(invocation, of: nil)
        }
    }

    /// Cancels a call of the app.
    package mutating func cancelCall(_ id: CallID, now: Duration) -> [Action] {
        collect { machine in
            guard machine.session?.calls.removeValue(forKey: id) != nil else { return }
            machine.transmit(.cancelInvocation(id: "\(id)"), now: now)
            machine.finish(id, .failure(.cancelled))
        }
    }

    /// Sends an item of an upload. When the machine finishes `receipt`, the transport has the item.
    package mutating func upload(_ id: CallID, item: EncodedValue, receipt: WaiterID, now: Duration) -> [Action] {
        collect { machine in
            guard machine.session?.uploads[id] != nil else { return machine.add(.finishSend(receipt, .callEnded)) }
            machine.transmit(.streamItem(id: "\(id)", item: item), receipt: receipt, now: now)
        }
    }

    /// Ends an upload. The client sends the error to the server, if there is one.
    package mutating func endUpload(_ id: CallID, error: String?, now: Duration) -> [Action] {
        collect { machine in
            guard machine.session?.uploads.removeValue(forKey: id) != nil else { return }
            machine.transmit(.completion(id: "\(id)", error.map { .error($0) } ?? .void), now: now)
        }
    }

    /// Answers a call of the server, unless the connection of the call is lost.
    package mutating func answer(
        _ outcome: HubOutcome,
        to id: String,
        of session: SessionID,
        now: Duration
    ) -> [Action] {
        collect { machine in
            guard machine.session?.id == session else { return }
            machine.transmit(.completion(id: id, outcome), now: now)
        }
    }

    /// Closes the connection because the app consumes messages too slowly. Waiting messages must not fill the memory.
    package mutating func overflowed(_ session: SessionID, _ message: String, now: Duration) -> [Action] {
        collect { machine in
            guard machine.session?.id == session else { return }
            machine.lost(.client(.receiveBufferFull, message), now: now)
        }
    }

    private mutating func call(_ id: CallID, _ kind: CallKind, _ invocation: HubInvocation, now: Duration) {
        var invocation = invocation
        invocation.id = "\(id)"
        let message: HubMessage
        let operation: String
        switch kind {
        case .invocation: (message, operation) = (.invocation(invocation), "invoke(method:arguments:)")
        case .stream: (message, operation) = (.streamInvocation(invocation), "stream(method:arguments:)")
        }
        guard session != nil else { return add(.finishCall(id, .failure(.notConnected(operation, in: state)))) }
        session?.calls[id] = kind
        transmit(message, now: now)
        beginUploads(invocation, of: id)
    }

    private mutating func beginUploads(_ invocation: HubInvocation, of call: CallID?) {
        let uploads = invocation.streamIDs.compactMap { CallID(wire: $0) }
        // Sending the call can have ended the connection.
        if uploads.isEmpty || session == nil { return }
        for upload in uploads { session?.uploads[upload] = .some(call) }
        add(.beginUploads(uploads))
    }

    /// Finishes a call that the session no longer contains.
    private mutating func finish(_ id: CallID, _ result: Result<HubOutcome, HubFailure>) {
        let uploads = session?.uploads.filter { $0.value == id }.keys.sorted { $0.number < $1.number } ?? []
        for upload in uploads {
            session?.uploads[upload] = nil
            add(.cancelUpload(upload))
        }
        add(.finishCall(id, result))
    }

    // MARK: Sending

    mutating func transmit(_ message: HubMessage, receipt: WaiterID? = nil, now: Duration) {
        let bytes = configuration.hubProtocol.encode(message)
        guard message.isTracked, let mustWait = session?.resumption?.mustWait else {
            return write(bytes, receipt: receipt, now: now)
        }
        if mustWait {
            guard session?.resumption?.hold(bytes, receipt) == false else { return }
            let message = "Send buffer full: more than \(Resumption.maximumBufferSize) bytes wait for the server."
            lost(.client(.transportClosed, message), now: now)
        } else {
            transmitTracked(bytes, receipt: receipt, now: now)
        }
    }

    private mutating func transmitTracked(_ bytes: [UInt8], receipt: WaiterID?, now: Duration) {
        session?.resumption?.sent(bytes)
        // The waiting call returns at once, because the client keeps the message, and sends it again if this transport
        // fails.
        if let receipt { add(.finishSend(receipt, nil)) }
        if case .down = session?.resumption?.link { return }
        write(bytes, receipt: nil, now: now)
    }

    mutating func write(_ bytes: [UInt8], receipt: WaiterID?, now: Duration) {
        guard let attempt, attempt.isHandshakeDone else { return }
        session?.lastSent = now
        add(.write(attempt.id, bytes, receipt: receipt))
    }

    mutating func sendHeld(now: Duration) {
        while let held = session?.resumption?.takeHeld() {
            transmitTracked(held.bytes, receipt: held.receipt, now: now)
        }
    }

    // MARK: Receiving

    /// - Parameter size: The size of the message, in bytes.
    mutating func handle(_ message: HubMessage, size: Int, now: Duration) {
        if session?.resumption != nil, !track(message, size: size, now: now) { return }
        switch message {
        case .invocation(let invocation):
            if let session { add(.deliver(invocation, session.id)) }
        case .streamItem(let id, let item, _):
            guard let call = CallID(wire: id), let kind = session?.calls[call] else {
                return add(.ignored("an item of a stream that is not open"))
            }
            switch kind {
            case .stream: add(.deliverItem(call, item))
            case .invocation:
                session?.calls[call] = nil
                finish(
                    call,
                    .failure(
                        .signalR(
                            .unexpectedMessageType("the method answers with a stream. Call stream(method:arguments:).")
                        )
                    )
                )
            }
        case .completion(let id, let outcome, _):
            guard let call = CallID(wire: id), let kind = session?.calls.removeValue(forKey: call) else {
                return add(.ignored("a completion of a call that is not waiting"))
            }
            switch outcome {
            case .error(let text): finish(call, .failure(.signalR(.invocationError(text))))
            // The result of a stream is its items, so the machine ignores the value.
            case .value where kind == .stream: finish(call, .success(.void))
            case .value, .void: finish(call, .success(outcome))
            }
        case .close(let error, let allowReconnect): serverCloses(error, allowReconnect: allowReconnect, now: now)
        case .ack(let number):
            session?.resumption?.acknowledged(number)
            sendHeld(now: now)
        case .sequence(let number):
            if session?.resumption != nil { synchronized(number, now: now) }
        case .ping: break
        case .streamInvocation, .cancelInvocation: add(.ignored("a message that only clients send"))
        }
    }

    /// Counts a message of a resumable connection. Returns whether the machine should handle the message.
    private mutating func track(_ message: HubMessage, size: Int, now: Duration) -> Bool {
        if case .sequence = message { return true }
        // The machine ignores a message that arrives before the server's Sequence message, because the message's number
        // is unknown.
        if case .synchronizing = session?.resumption?.link { return false }
        guard message.isTracked, let (isNew, acknowledgement) = session?.resumption?.received(size: size) else {
            return true
        }
        switch acknowledgement {
        case .never: break
        case .soon:
            if waits[.acknowledgement] == nil { waits[.acknowledgement] = now + Self.acknowledgementDelay }
        case .atOnce: acknowledge(now: now)
        }
        return isNew
    }

    private mutating func serverCloses(_ error: String?, allowReconnect: Bool, now: Duration) {
        let failure = error.map {
            HubFailure.client(.serverClosed, "Server returned an error on close: \($0.shortened)")
        }
        if allowReconnect, configuration.reconnects {
            lost(failure, now: now)
        } else {
            beginStopping(failure, now: now)
        }
    }
}
