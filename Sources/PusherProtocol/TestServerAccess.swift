/// The data that a client needs to use a test server: address, key, and the certificate to trust.
///
/// `PusherTestServer.access` returns this data, and `PusherClientOptions(testing:)` takes it. Client and server share
/// this type, so neither depends on the other.
public struct TestServerAccess: Hashable, Sendable {
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
    /// The URL of the endpoint that authorizes channels.
    package let channelAuthorizationURL: String
    /// The URL of the endpoint that signs users in.
    package let userAuthenticationURL: String

    package init(
        key: String,
        host: String,
        port: Int,
        usesTLS: Bool,
        trustRoot: String?,
        channelAuthorizationURL: String,
        userAuthenticationURL: String
    ) {
        self.key = key
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.trustRoot = trustRoot
        self.channelAuthorizationURL = channelAuthorizationURL
        self.userAuthenticationURL = userAuthenticationURL
    }
}
