import Logging

/// For apps that know more than the client: they are in the foreground again, or the network has changed.
extension Pusher {
    /// Checks now whether the connection still works. Call it when the app comes back to the foreground, or the network
    /// has changed.
    ///
    /// If there is a connection, the client pings the server. If no answer comes in time, the client reconnects. If the
    /// client waits before another attempt, it starts that attempt now. If the app has not connected, or the server has
    /// refused the client, nothing happens. Returns at once; ``statuses`` reports the result.
    ///
    /// - Parameter timeout: How long the server may take to answer, but not longer than ``PusherTimeouts/pong``. Zero
    ///   or less counts as a millisecond. Default: 5 s. If a ping is unanswered already, a second call can only shorten
    ///   its timeout.
    public func checkConnection(timeout: Duration = .seconds(5)) {
        engine.step { state, now in
            state.machine.checkConnection(
                timeout: max(timeout, .milliseconds(1)),
                now: now,
                into: &state.pending
            )
        }
    }

    /// Opens a new connection at once, in any state, without waiting for a timeout or for the old connection to close.
    /// Channels are subscribed again. If ``disconnect()`` was called, or the server has refused the client, it
    /// connects.
    ///
    /// The client drops a current connection without a closing handshake. Call ``checkConnection(timeout:)`` first,
    /// unless you know that the connection is dead.
    public func reconnectNow() {
        engine.step { state, now in state.machine.reconnectNow(now: now, into: &state.pending) }
    }

    /// Switches to another server, or another app, with all channels, bindings and sequences. Use it, for example, if a
    /// cluster fails.
    ///
    /// The client drops the current connection, attempt or wait, and connects to the new server at once. There it
    /// subscribes to the channels and signs the user in. The client also connects if the old server had refused it, or
    /// if it had stopped reconnecting. If nobody connected, or ``disconnect()`` was called, the next ``connect()`` uses
    /// the new server.
    ///
    /// All other options stay as they are. ``TLSOptions/pins`` must fit both servers. Secrets in
    /// ``PusherClientOptions/headers`` and ``PusherClientOptions/queryItems`` are sent to the new server. Client events
    /// that still wait are sent there too.
    ///
    /// ```swift
    /// try pusher.switchTo(endpoint: .pusher(cluster: "us2"), key: "key-of-the-second-app", authMethod: secondMethod)
    /// ```
    /// - Parameters:
    ///   - endpoint: The server.
    ///   - key: The app key there. Default: the current key, also on the way back.
    ///   - authMethod: The new value of ``PusherClientOptions/authMethod``, for all clients that were created with the
    ///     same options object. If clients switch one by one, give each its own options. Default: the current one.
    ///   - userAuthMethod: The new value of ``PusherClientOptions/userAuthMethod``, likewise. Default: the current one.
    /// - Throws: ``PusherClientError`` if the endpoint or the key cannot be used, or if a key is pinned and an
    ///   authorization endpoint is on the new host. In that case nothing has changed.
    public func switchTo(
        endpoint: PusherEndpoint,
        key: String? = nil,
        authMethod: AuthMethod? = nil,
        userAuthMethod: UserAuthMethod? = nil
    ) throws(PusherClientError) {
        let target = Endpoint(
            key: key ?? connection.key,
            server: endpoint,
            authMethod: authMethod,
            userAuthMethod: userAuthMethod,
            options: engine.options,
            proxies: engine.proxies
        )
        let request = try target.request.get()
        if let authMethod { connection.options.authMethod = authMethod }
        if let userAuthMethod { connection.options.userAuthMethod = userAuthMethod }
        engine.logger.notice(
            "Switching to another server",
            metadata: ["pusher.host": "\(request.host)", "pusher.port": "\(request.port)"]
        )
        engine.step { state, now in
            state.endpoint = target
            state.machine.switchTo(request, now: now, into: &state.pending)
        }
    }
}
