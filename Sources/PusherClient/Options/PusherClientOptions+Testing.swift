public import PusherProtocol

extension PusherClientOptions {
    /// Creates options for a client that uses a test server in the given environment, with the defaults of a client that
    /// is not for tests.
    package convenience init(
        testing server: TestServerAccess,
        userId: String?,
        makeEnvironment: @escaping @Sendable (PusherClientOptions) -> ClientEngine.Environment
    ) {
        self.init(endpoint: PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS))
        authorize(at: server, userId: userId)
        proxy = .direct
        self.makeEnvironment = makeEnvironment
    }

    private func authorize(at server: TestServerAccess, userId: String?) {
        let parameters = AuthEndpoint.Parameters(userId.map { ["user_id": $0] } ?? [:])
        authMethod = .endpoint(server.channelAuthorizationURL, parameters: parameters)
        userAuthMethod = .endpoint(server.userAuthenticationURL, parameters: parameters)
    }

    /// Creates options for a client that uses a test server.
    ///
    /// ```swift
    /// let access = server.access    // a PusherTestServer that has been started
    /// let pusher = Pusher(key: access.key, options: PusherClientOptions(testing: access))
    /// ```
    /// The client trusts the server's root certificate, and uses the server's endpoints to authorize channels and to
    /// sign users in. The client uses no proxy, and reconnects after 20 ms, so that tests do not wait. Attempts and requests
    /// have a minute instead of 10 or 15 s, because a machine that runs many tests at once is slow.
    ///
    /// - Parameters:
    ///   - server: The access data of the test server.
    ///   - userId: The id of the client's user, which the server's endpoints use for presence channels and for the
    ///     sign-in. Default: a different user for each connection.
    ///   - callbackQueue: The queue on which callbacks run. Default: the main queue.
    public convenience init(
        testing server: TestServerAccess,
        userId: String? = nil,
        callbackQueue: CallbackQueue = .main
    ) {
        self.init(endpoint: PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS))
        authorize(at: server, userId: userId)
        let minute = Duration.seconds(60)
        (timeouts.connectionAttempt, timeouts.authorization) = (minute, minute)
        (timeouts.subscription, timeouts.signIn) = (minute, minute)
        retryPolicy = .delays([.milliseconds(20)])
        tls = TLSOptions(trustRoots: server.trustRoot.map { .only(pem: $0) } ?? .system)
        proxy = .direct
        self.callbackQueue = callbackQueue
    }
}
