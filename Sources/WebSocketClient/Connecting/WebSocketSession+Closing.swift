import NIOCore
import NIOPosix
import NIOSSL

extension WebSocketSession {
    func close(code: WebSocketCloseCode, reason: String) {
        switch stage {
        case .connecting, .tunneling, .securing, .upgrading:
            // The receiver must not be called within the call.
            let receive = receive
            abort()
            eventLoop.execute { receive?(.closed(WebSocketClosure(code: nil))) }
        case .open:
            // The answer has to be read.
            setReading(true)
            stage = .closing
            writeCloseFrame(code, reason: reason)
            startClosingTimer()
        case .closing, .lingering, .ended:
            break
        }
    }

    func abort() {
        receive = nil
        end(nil)
    }

    func peerClosed(_ code: WebSocketCloseCode, reason: String) {
        linger(WebSocketClosure(code: code, reason: reason), sending: code)
    }

    /// Sends the peer the close code for its violation, and reads nothing more.
    func violated(_ violation: WebSocketViolation) {
        linger(
            WebSocketClosure(code: nil, error: violation.error),
            sending: violation.closeCode,
            reason: violation.message
        )
    }

    /// Reports the end, and waits for the peer to end the TCP connection. Otherwise data that the peer has sent
    /// meanwhile would make the system reset the connection, and the close frame could be lost.
    ///
    /// Reports first, because the channel ends during the write if the close frame cannot be written any more.
    private func linger(_ closure: WebSocketClosure, sending code: WebSocketCloseCode, reason: String = "") {
        let hasSentClose = stage != .open
        setReading(true)
        stage = .lingering
        reader = WebSocketFrameReader(maximumMessageSize: 0)
        startClosingTimer()
        report(closure)
        if !hasSentClose, case .lingering = stage { writeCloseFrame(code, reason: reason) }
    }

    private func startClosingTimer() {
        guard closingTimer == nil else { return }
        closingTimer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(options.closeTimeout)) {
            self.closingTimedOut()
        }
    }

    private func closingTimedOut() {
        switch stage {
        case .closing: end(WebSocketClosure(code: nil, error: ConnectionFailure.unanswered()))
        case .connecting, .tunneling, .securing, .upgrading, .open, .lingering, .ended: end(nil)
        }
    }

    /// Releases everything, and reports the end unless it was reported.
    func end(_ closure: WebSocketClosure?) {
        stage = .ended
        closingTimer?.cancel()
        closingTimer = nil
        hostLookup?.cancelQueries()
        hostLookup = nil
        upgrade = nil
        unansweredPing = nil
        reader = WebSocketFrameReader(maximumMessageSize: 0)
        closeSocket()
        if let closure { report(closure) }
    }

    private func report(_ closure: WebSocketClosure) {
        let receive = receive
        self.receive = nil
        receive?(.closed(closure))
    }

    /// Closes at once: TLS would wait for the peer's answer.
    func closeSocket() {
        for channel in candidates {
            let operations = channel.pipeline.syncOperations
            if let secured = try? operations.context(handlerType: NIOSSLClientHandler.self) {
                secured.close(promise: nil)
            } else {
                channel.close(promise: nil)
            }
        }
    }
}
