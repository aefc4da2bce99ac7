import Logging

/// For applications that know something which the client does not: they are in the foreground again, or the network has
/// changed.
extension Pusher {
    /// Finds out now whether the connection is still there: when the application comes back to the foreground, or the
    /// network has changed.
    ///
    /// Where there is a connection the server is asked for a sign of life; where none comes in time, a new connection
    /// is made, as after any loss. Where the client waits before another attempt, that attempt is made now. Where
    /// nothing is wanted, because nobody connected or the server has refused, nothing happens. Returns at once; see
    /// ``statuses`` for what comes of it.
    ///
    /// - Parameter timeout: How long the server may take to answer, if that is less than
    ///   ``PusherTimeouts/pong``; zero or less counts as a millisecond. Default: 5 s.
    ///   Where an answer is awaited already, it may take no longer for another call.
    public func checkConnection(timeout: Duration = .seconds(5)) {
        engine.step { state, now in
            state.machine.checkConnection(
                timeout: max(timeout, .milliseconds(1)),
                now: now,
                into: &state.pending
            )
        }
    }

    /// Makes a new connection at once, in whatever state the client is, without waiting for a timeout or for the end of
    /// the old one; channels are subscribed again. Where ``disconnect()`` was called, or the server has refused, it
    /// connects.
    ///
    /// A connection that stands is given up for it, without a closing handshake: ask ``checkConnection(timeout:)``
    /// first, unless you know that it is dead.
    public func reconnectNow() {
        engine.step { state, now in state.machine.reconnectNow(now: now, into: &state.pending) }
    }

    /// Goes over to another server, or another app, with all channels, bindings and sequences: to a second cluster
    /// where the first one fails, for example.
    ///
    /// A connection that stands, an attempt that is under way and a wait are given up for an attempt to connect to the
    /// new server, at once; channels are subscribed there, and the user is signed in. Where the old server had refused
    /// the client, or reconnecting was given up, the client connects too. Where nobody connected, or ``disconnect()``
    /// was called, the next ``connect()`` goes there.
    ///
    /// Everything else stays as the options have it. ``TLSOptions/pins`` have to be right for both servers; and what is
    /// secret in ``PusherClientOptions/headers`` and ``PusherClientOptions/queryItems`` is sent to the new one. So are
    /// client events that still wait.
    ///
    /// ```swift
    /// try pusher.switchTo(endpoint: .pusher(cluster: "us2"), key: "key-of-the-second-app", authMethod: secondMethod)
    /// ```
    /// - Parameters:
    ///   - endpoint: The server.
    ///   - key: The app key there. Default: the one that is used now, also on the way back.
    ///   - authMethod: What ``PusherClientOptions/authMethod`` becomes, for all clients that were made with the same
    ///     options object: give each its own, where they go over one by one. Default: what it is.
    ///   - userAuthMethod: What ``PusherClientOptions/userAuthMethod`` becomes, likewise. Default: what it is.
    /// - Throws: ``PusherClientError`` if the endpoint or the key cannot be used, or if a key is pinned and an authorization
    ///   endpoint is on the new host. Nothing has changed then.
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
            "Going over to another server",
            metadata: ["pusher.host": "\(request.host)", "pusher.port": "\(request.port)"]
        )
        engine.step { state, now in
            state.endpoint = target
            state.machine.switchTo(request, now: now, into: &state.pending)
        }
    }
}
