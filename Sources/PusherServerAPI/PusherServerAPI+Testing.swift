public import PusherProtocol
import RealtimeNetworking

extension PusherServerAPI {
    /// Creates an API for a test server.
    ///
    /// ```swift
    /// let api = try PusherServerAPI(testing: server.access)    // a PusherTestServer that has been started
    /// try await api.trigger(.init("created", json: ["id": 1]), on: "orders")
    /// ```
    /// The API has the server's application, with the master key of encrypted channels. It trusts the server's root
    /// certificate and uses no proxy.
    ///
    /// - Parameter server: The access data of the test server.
    /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/invalidOption`` or
    ///   ``PusherServerAPIError/Code/invalidEncryptionKey`` if the server has such an application or key.
    public convenience init(testing server: TestServerAccess) throws(PusherServerAPIError) {
        var options = Options()
        options.tls = TLSOptions(trustRoots: server.trustRoot.map { .only(pem: $0) } ?? .system)
        options.proxy = .direct
        try self.init(
            application: .init(
                id: server.appID,
                key: server.key,
                secret: server.secret,
                encryptionMasterKey: server.encryptionMasterKey
            ),
            endpoint: .init(host: server.host, port: server.port, useTLS: server.usesTLS),
            options: options
        )
    }
}
