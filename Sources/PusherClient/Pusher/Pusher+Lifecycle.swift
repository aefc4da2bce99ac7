import Logging

/// Members to call when the app is in the foreground again, or when the network has changed.
extension Pusher {
    /// Checks now whether the connection still works. Call this method when the app returns to the foreground, or when
    /// the network has changed.
    ///
    /// If there is a connection, the client pings the server. If the pong does not come in time, the client reconnects.
    /// Other messages do not count as an answer, because they may have waited in a buffer since before the connection
    /// died. If the client waits before another attempt, it starts that attempt now. While an attempt is under way, the method does
    /// nothing. It also does nothing if the app has not called ``connect()``, if the app has disconnected, or if the
    /// client has stopped. The method returns at once. If the client reconnects or starts an attempt, ``statuses``
    /// reports each new status.
    ///
    /// - Parameter timeout: The time limit for the server's answer, at most ``PusherTimeouts/pong``. A value below a
    ///   millisecond counts as a millisecond. Default: 5 s. If there is already an unanswered ping, another call can
    ///   only shorten its timeout.
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
    /// The client subscribes to its channels again. The method connects even after ``disconnect()``, and even if the
    /// server has refused the client.
    ///
    /// After the method has returned on a callback queue, no callback for an event of the earlier connection begins
    /// there. Sequences keep the events that they have.
    ///
    /// If the client waits before another attempt or has stopped, the method does the same as ``connect()``, with the same
    /// limit for calls right after failures.
    ///
    /// The client drops a current connection without a closing handshake. Call ``checkConnection(timeout:)`` first,
    /// unless you know that the connection is dead.
    public func reconnectNow() {
        engine.stepToNextEpoch(onlyIfConnected: true) { state, now in
            state.machine.reconnectNow(now: now, into: &state.pending)
        }
    }

    /// Switches to another server, or another app, with all channels, bindings and sequences. Use this method, for
    /// example, if a cluster fails.
    ///
    /// The client drops the current connection, attempt or wait, and connects to the new server at once. On the new
    /// connection, the client subscribes to the channels and signs the user in. The client also connects if the old
    /// server had refused it, or if the client had stopped reconnecting. After the method has returned on a callback
    /// queue, no callback for an event of the old server begins there. If the app has not connected, or has called
    /// ``disconnect()``, the next ``connect()`` uses the new server.
    ///
    /// All other options stay unchanged. ``TLSOptions/pins`` must include the keys of both servers, and of all
    /// authorization endpoints. The client sends any secrets in ``PusherClientOptions/headers`` and ``PusherClientOptions/queryItems`` to the new server. It also
    /// sends waiting client events to the new server.
    ///
    /// ```swift
    /// try pusher.switchTo(endpoint: .pusher(cluster: "us2"), key: "key-of-the-second-app", authMethod: secondMethod)
    /// ```
    /// - Parameters:
    ///   - endpoint: The server.
    ///   - key: The app key on that server. Default: the current key, even if you switch back to an earlier server.
    ///   - authMethod: The new value of ``PusherClientOptions/authMethod``, for all clients that your code has created
    ///     with this options object. If clients switch one by one, give each client its own options. Default: no
    ///     change.
    ///   - userAuthMethod: The new value of ``PusherClientOptions/userAuthMethod``, for these clients. Default: no
    ///     change.
    /// - Throws: ``PusherClientError`` if the client cannot use the endpoint or the key. In that case, nothing changes.
    public func switchTo(
        endpoint: PusherEndpoint,
        key: String? = nil,
        authMethod: AuthMethod? = nil,
        userAuthMethod: UserAuthMethod? = nil
    ) throws(PusherClientError) {
        let target = Endpoint(key: key ?? connection.key, server: endpoint, options: engine.options)
        let request = try target.request(options: engine.options, proxies: engine.proxies)
        if let authMethod { connection.options.authMethod = authMethod }
        if let userAuthMethod { connection.options.userAuthMethod = userAuthMethod }
        engine.logger.notice(
            "Switching to another server",
            metadata: ["pusher.host": "\(request.host)", "pusher.port": "\(request.port)"]
        )
        engine.stepToNextEpoch { state, now in
            state.endpoint = target
            state.machine.switchTo(request, now: now, into: &state.pending)
        }
    }
}
