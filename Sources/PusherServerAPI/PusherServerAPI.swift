import Foundation
import PusherEncryption
package import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives

/// The REST API of a Pusher Channels server, for backends.
///
/// The API triggers events, reads the state of channels, authorizes channels, authenticates users, and checks webhooks.
///
/// ```swift
/// let api = try PusherServerAPI(
///     application: .init(id: "1", key: "app-key", secret: "app-secret"),
///     endpoint: .pusher(cluster: "eu")
/// )
/// try await api.trigger(.init("created", json: ["id": 1]), on: "orders")
/// ```
///
/// Make one object for an application and keep it, so that its HTTP connections can serve further requests. The
/// connections close when you release the object or call ``shutdown()``. You can call all methods from any thread or
/// task.
///
/// Methods that make a request throw ``PusherServerAPIError``, or `CancellationError` if their task is cancelled. These
/// methods check names, ids and sizes first. If a value breaks the server's rules, the methods throw without a request.
/// Methods that make no request, such as ``authorizeChannel(_:socketID:member:)``, work without a server.
public final class PusherServerAPI: Sendable {
    /// The application whose key and secret sign requests and authorizations.
    public let application: Application
    /// The server that gets the requests.
    public let endpoint: Endpoint
    /// The options of requests.
    public let options: Options

    let signer: ApplicationSigner
    let masterKey: SecretKey?
    let sender: RequestSender
    /// The time in seconds since 1970.
    let unixTime: @Sendable () -> Int

    /// Creates an API, which opens no connection before the first request.
    ///
    /// - Parameters:
    ///   - application: The application's id, key and secret.
    ///   - endpoint: The server.
    ///   - options: The options of requests. Default: the default values of ``Options``.
    /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/invalidOption`` if a part of the application
    ///   or of the endpoint is invalid, or with ``PusherServerAPIError/Code/invalidEncryptionKey``.
    public convenience init(
        application: Application,
        endpoint: Endpoint,
        options: Options = Options()
    ) throws(PusherServerAPIError) {
        let requester = PooledHTTPRequester(
            tls: TLSContextSource(options.tls),
            proxies: ProxyRules(options.proxy),
            connectTimeout: max(options.timeout, .zero)
        )
        try self.init(
            application: application,
            endpoint: endpoint,
            options: options,
            requester: requester,
            unixTime: { Int(Date().timeIntervalSince1970) }
        )
    }

    /// Creates an API with its own HTTP client and clock, for tests.
    package init(
        application: Application,
        endpoint: Endpoint,
        options: Options,
        requester: any HTTPRequester,
        unixTime: @escaping @Sendable () -> Int
    ) throws(PusherServerAPIError) {
        try application.check()
        try endpoint.check()
        if let text = application.encryptionMasterKey {
            guard let key = SecretKey(base64: text) else {
                throw PusherServerAPIError(
                    .invalidEncryptionKey,
                    "Invalid encryption master key: it is not the base64 of 32 bytes. Make a key with openssl rand -base64 32."
                )
            }
            masterKey = key
        } else {
            masterKey = nil
        }
        self.application = application
        self.endpoint = endpoint
        self.options = options
        self.unixTime = unixTime
        signer = ApplicationSigner(key: application.key, secret: application.secret)
        sender = RequestSender(
            base: endpoint.url,
            applicationPath: "/apps/\(application.id)",
            signer: signer,
            options: options,
            requester: requester,
            unixTime: unixTime
        )
    }

    deinit { shutdown() }

    /// Cancels pending requests, and closes all connections.
    ///
    /// Later requests throw ``PusherServerAPIError/Code/shutDown``. You may call the method more than once.
    public func shutdown() { sender.requester.shutdown() }
}

extension PusherServerAPI: CustomStringConvertible, CustomReflectable {
    /// The application and the endpoint, without secrets.
    public var description: String { "PusherServerAPI(application: \(application), endpoint: \(endpoint))" }
    /// The application and the endpoint, without secrets.
    public var customMirror: Mirror { Mirror(self, children: ["application": application, "endpoint": endpoint]) }
}
