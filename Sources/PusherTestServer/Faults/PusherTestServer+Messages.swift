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

    /// Writes bytes to the socket as they are, without a WebSocket frame around them.
    public func sendRawBytes(_ bytes: [UInt8], to target: Target = .all) {
        engine.step { brain in brain.send(.rawBytes(bytes), target) }
    }

    /// Sends a WebSocket ping.
    public func sendWebSocketPing(_ payload: [UInt8] = [], to target: Target = .all) {
        engine.step { brain in brain.send(.ping(payload), target) }
    }

    /// Sends any event to connections, whether they are subscribed to the channel or not.
    ///
    /// - Parameters:
    ///   - name: the event's name, also one of the protocol's own.
    ///   - data: the value of `data`, which goes out as a JSON string; nil leaves it out.
    ///   - channel: the channel's name; nil leaves it out.
    ///   - target: the connections. Default: all.
    public func sendEvent(_ name: String, data: String? = "{}", channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendEvent(name, data: data, channel: channel, target) }
    }

    /// Sends `pusher:error`, written as servers of the ``Dialect`` do. The connection stays: see
    /// ``closeConnections(_:code:reason:)`` for one that ends.
    ///
    /// - Parameters:
    ///   - code: A code of the protocol (clause 6); nil for an error without one, as refusals of subscriptions are.
    ///   - message: What the server says about it.
    ///   - channel: The channel that the error names, which those of servers seldom do.
    ///   - target: Who gets it.
    public func sendError(code: Int?, message: String, channel: String? = nil, to target: Target = .all) {
        engine.step { brain in brain.sendError(code: code, message: message, channel: channel, target) }
    }

    /// Answers subscriptions in another way than usual.
    ///
    /// - Parameters:
    ///   - channel: The channel's name. Nil, the default, means every channel that has no fault of its own.
    ///   - fault: What a subscription gets; nil answers as usual again.
    public func failSubscriptions(to channel: String? = nil, with fault: SubscriptionFault?) {
        engine.step { brain in brain.failSubscriptions(to: channel, with: fault) }
    }
}
