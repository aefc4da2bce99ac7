public import struct PusherProtocol.TestServerAccess

extension PusherClientOptions {
    /// Makes options for a client that uses a test server.
    ///
    /// ```swift
    /// let access = server.access    // a PusherTestServer that has been started
    /// let pusher = Pusher(key: access.key, options: PusherClientOptions(testing: access))
    /// ```
    /// The client trusts the server's root certificate, authorizes channels and signs users in at the server's endpoints, uses
    /// no proxy, and reconnects after 20 ms, so that tests do not wait.
    ///
    /// - Parameters:
    ///   - server: What the test server says about itself.
    ///   - userId: The user whom the server's endpoints take the client for, on presence channels and at the sign-in. Default:
    ///     one of its own for each connection.
    ///   - callbackQueue: Where callbacks run. Default: the main queue.
    public convenience init(
        testing server: TestServerAccess,
        userId: String? = nil,
        callbackQueue: CallbackQueue = .main
    ) {
        self.init(endpoint: PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS))
        let parameters = AuthEndpoint.Parameters(userId.map { ["user_id": $0] } ?? [:])
        authMethod = .endpoint(server.channelAuthorizationURL, parameters: parameters)
        userAuthMethod = .endpoint(server.userAuthenticationURL, parameters: parameters)
        retryPolicy = .delays([.milliseconds(20)])
        tls = TLSOptions(trustRoots: server.trustRoot.map { .only(pem: $0) } ?? .system)
        proxy = .direct
        self.callbackQueue = callbackQueue
    }
}
