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
    ///   - server: The test server's `access`.
    ///   - callbackQueue: Where callbacks run. Default: the main queue.
    public convenience init(testing server: TestServerAccess, callbackQueue: CallbackQueue = .main) {
        self.init(endpoint: PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS))
        authMethod = .endpoint(server.channelAuthorizationURL)
        userAuthMethod = .endpoint(server.userAuthenticationURL)
        retryPolicy = .delays([.milliseconds(20)])
        tls = TLSOptions(trustRoots: server.trustRoot.map { .only(pem: $0) } ?? .system)
        proxy = .direct
        self.callbackQueue = callbackQueue
    }
}
