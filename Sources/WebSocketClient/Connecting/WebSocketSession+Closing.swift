import NIOCore
import RealtimeNetworking

extension WebSocketSession {
    func close(code: WebSocketCloseCode, reason: String) {
        switch stage {
        case .connecting, .upgrading:
            // The session must not call the receiver during this call, so it reports the event later.
            let receive = receive
            abort()
            eventLoop.execute { receive?(.closed(WebSocketClosure(code: nil))) }
        case .open:
            // The client has to read the server's close frame, so the session must not pause reading.
            setReading(true)
            stage = .closing
            failWaiting(ConnectionFailure.notOpen())
            writeCloseFrame(code, reason: reason)
            startClosingTimer()
        case .closing, .lingering, .ended:
            break
        }
    }

    func abort() {
        receive = nil
        // The messages of this turn of the event loop have been sent from the caller's point of view.
        if case .open = stage { context?.flush() }
        end(nil)
    }

    func peerClosed(_ code: WebSocketCloseCode, reason: String) {
        linger(WebSocketClosure(code: code, reason: reason), sending: code)
    }

    /// Sends a close frame with the code for the peer's violation, and ignores all further data.
    func violated(_ violation: WebSocketViolation) {
        linger(
            WebSocketClosure(code: nil, error: violation.error),
            sending: violation.closeCode,
            reason: violation.message
        )
    }

    /// Reports the end, and waits for the peer to close the TCP connection. If the client did not wait, the system
    /// would reset the connection when more data arrives. The reset could discard the close frame.
    ///
    /// The session reports the end before it writes the close frame, because a failed write closes the channel.
    private func linger(_ closure: WebSocketClosure, sending code: WebSocketCloseCode, reason: String = "") {
        let hasSentClose = stage != .open
        setReading(true)
        stage = .lingering
        failWaiting(ConnectionFailure.notOpen(closure.error))
        reader = WebSocketFrameReader(maximumMessageSize: 0)
        startClosingTimer()
        report(closure)
        if !hasSentClose, case .lingering = stage { writeCloseFrame(code, reason: reason) }
    }

    /// Reports a connection that ended, or a refusal that took too long, before the server's answer was complete.
    func upgradeFailed() {
        let error = upgrade?.refusal ?? ConnectionFailure.upgrading(request, failure)
        end(WebSocketClosure(code: nil, error: error))
    }

    func startClosingTimer() {
        guard closingTimer == nil else { return }
        closingTimer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(options.closeTimeout)) {
            self.closingTimedOut()
        }
    }

    private func closingTimedOut() {
        switch stage {
        case .upgrading: upgradeFailed()
        case .closing: end(WebSocketClosure(code: nil, error: ConnectionFailure.unanswered()))
        case .connecting, .open, .lingering, .ended: end(nil)
        }
    }

    /// Releases all resources, and reports the end unless the session has already reported it.
    func end(_ closure: WebSocketClosure?) {
        stage = .ended
        closingTimer?.cancel()
        closingTimer = nil
        dial?.cancel()
        dial = nil
        upgrade = nil
        unansweredPing = nil
        failWaiting(fullBuffer ?? ConnectionFailure.notOpen(closure?.error))
        #if Compression
            (deflater, inflater) = (nil, nil)
        #endif
        reader = WebSocketFrameReader(maximumMessageSize: 0)
        closeSocket()
        if let closure { report(closure) }
    }

    private func report(_ closure: WebSocketClosure) {
        var closure = closure
        if closure.error?.address == nil { closure.error?.address = request.description }
        let receive = receive
        self.receive = nil
        receive?(.closed(closure))
    }

    func closeSocket() { context?.channel.closeAtOnce() }
}
