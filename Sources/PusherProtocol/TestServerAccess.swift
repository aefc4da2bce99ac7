/// The data that a client or a backend needs to use a test server: address, application, and the certificate to trust.
///
/// `PusherTestServer.access` returns this data. `PusherClientOptions(testing:)` and `PusherServerAPI(testing:)` take it.
/// Clients and server share this type, so neither depends on the other.
public struct TestServerAccess: Hashable, Sendable {
    package let appID: String
    /// The app key.
    public let key: String
    /// The address that the server listens on, for example `127.0.0.1` or `::1`.
    package let host: String
    /// The port that the server listens on.
    package let port: Int
    /// Whether the server requires TLS.
    package let usesTLS: Bool
    /// The root certificate in PEM form that the client has to trust; nil for the system's root certificates.
    package let trustRoot: String?
    /// The app secret, which only a backend uses.
    package let secret: String
    /// The master key of encrypted channels, which only a backend uses.
    package let encryptionMasterKey: String
    /// The URL of the endpoint that authorizes channels.
    package let channelAuthorizationURL: String
    /// The URL of the endpoint that signs users in.
    package let userAuthenticationURL: String

    package init(
        appID: String,
        key: String,
        host: String,
        port: Int,
        usesTLS: Bool,
        trustRoot: String?,
        secret: String,
        encryptionMasterKey: String,
        channelAuthorizationURL: String,
        userAuthenticationURL: String
    ) {
        self.appID = appID
        self.key = key
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.trustRoot = trustRoot
        self.secret = secret
        self.encryptionMasterKey = encryptionMasterKey
        self.channelAuthorizationURL = channelAuthorizationURL
        self.userAuthenticationURL = userAuthenticationURL
    }
}

extension TestServerAccess: CustomStringConvertible, CustomReflectable {
    /// The app id, the app key and the address, without secrets.
    public var description: String { "TestServerAccess(appID: \(appID), key: \(key), host: \(host), port: \(port))" }
    /// The app id, the app key and the address, without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["appID": appID, "key": key, "host": host, "port": port])
    }
}
