extension PusherTestServer {
    /// Sends `pusher:ping` now. If the client does not answer within ``Options/pongTimeout``, the server closes the
    /// connection with 4201.
    public func sendPing(to target: Target = .all) {
        engine.step { brain in brain.sendPing(target) }
    }

    /// Sends one text frame with any text, for example a malformed message.
    public func sendText(_ text: String, to target: Target = .all) {
        engine.step { brain in brain.send(.text(text), target) }
    }

    /// Sends one binary frame, which the protocol does not support. Has no effect on connections over HTTP.
    public func sendBinary(_ bytes: [UInt8], to target: Target = .all) {
        engine.step { brain in brain.send(.binary(bytes), target) }
    }

    /// Writes bytes to the socket without a WebSocket frame. Over HTTP, writes the bytes to the response without a
    /// frame.
    public func sendRawBytes(_ bytes: [UInt8], to target: Target = .all) {
        engine.step { brain in brain.send(.rawBytes(bytes), target) }
    }

    /// Sends a WebSocket ping. Over HTTP, sends a heartbeat without the payload.
    public func sendWebSocketPing(_ payload: [UInt8] = [], to target: Target = .all) {
        engine.step { brain in brain.send(.ping(payload), target) }
    }

    /// Sends any event to connections, even if they are not subscribed to its channel.
    ///
    /// - Parameters:
    ///   - name: The event's name, which may be a name of the protocol.
    ///   - data: The value of `data`, which the server sends as a JSON string. Nil omits `data`.
    ///   - channel: The channel's name. Nil omits `channel`.
    ///   - target: The connections. Default: all.
    public func sendEvent(_ name: String, data: String? = "{}", channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendEvent(name, data: data, channel: channel, target) }
    }

    /// Sends `pusher:error` in the form of the server's ``Dialect``. The connection stays open. To close the
    /// connection, use ``closeConnections(_:code:reason:)``.
    ///
    /// - Parameters:
    ///   - code: A code of the protocol (clause 6). Nil makes an error without a code, as for a refused subscription.
    ///   - message: The message.
    ///   - channel: The channel that the error names. Real servers seldom name a channel.
    ///   - target: The connections that get the error.
    public func sendError(code: Int?, message: String, channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendError(code: code, message: message, channel: channel, target) }
    }

    /// Changes the answers to subscriptions.
    ///
    /// - Parameters:
    ///   - channel: The channel's name. Nil, the default, means every channel without its own fault.
    ///   - fault: The answer. Nil restores the normal answer.
    public func failSubscriptions(to channel: String? = nil, with fault: SubscriptionFault?) {
        engine.step { brain in brain.failSubscriptions(to: channel, with: fault) }
    }
}
