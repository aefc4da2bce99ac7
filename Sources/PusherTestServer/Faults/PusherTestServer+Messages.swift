extension PusherTestServer {
    /// Sends `pusher:ping` now. A client that does not answer within ``Options/pongTimeout`` is closed with 4201.
    public func sendPing(to target: Target = .all) {
        engine.step { brain in brain.sendPing(target) }
    }

    /// Sends one text frame with any text, for example a malformed message.
    public func sendText(_ text: String, to target: Target = .all) {
        engine.step { brain in brain.send(.text(text), target) }
    }

    /// Sends one binary frame, which the protocol does not know.
    public func sendBinary(_ bytes: [UInt8], to target: Target = .all) {
        engine.step { brain in brain.send(.binary(bytes), target) }
    }

    /// Writes bytes to the socket without a WebSocket frame.
    public func sendRawBytes(_ bytes: [UInt8], to target: Target = .all) {
        engine.step { brain in brain.send(.rawBytes(bytes), target) }
    }

    /// Sends a WebSocket ping.
    public func sendWebSocketPing(_ payload: [UInt8] = [], to target: Target = .all) {
        engine.step { brain in brain.send(.ping(payload), target) }
    }

    /// Sends any event to connections, subscribed or not.
    ///
    /// - Parameters:
    ///   - name: the event's name, also one of the protocol's own.
    ///   - data: the value of `data`, which is sent as a JSON string; nil leaves it out.
    ///   - channel: the channel's name; nil leaves it out.
    ///   - target: the connections. Default: all.
    public func sendEvent(_ name: String, data: String? = "{}", channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendEvent(name, data: data, channel: channel, target) }
    }

    /// Sends `pusher:error` in the form of the server's ``Dialect``. The connection stays open. To end it, use
    /// ``closeConnections(_:code:reason:)``.
    ///
    /// - Parameters:
    ///   - code: A code of the protocol (clause 6); nil for an error without one, as in refusals of subscriptions.
    ///   - message: The message.
    ///   - channel: The channel in the error, which real servers seldom name.
    ///   - target: The connections that get it.
    public func sendError(code: Int?, message: String, channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendError(code: code, message: message, channel: channel, target) }
    }

    /// Changes the answers to subscriptions.
    ///
    /// - Parameters:
    ///   - channel: The channel's name. Nil, the default, means every channel without its own fault.
    ///   - fault: The answer; nil answers as usual again.
    public func failSubscriptions(to channel: String? = nil, with fault: SubscriptionFault?) {
        engine.step { brain in brain.failSubscriptions(to: channel, with: fault) }
    }
}
