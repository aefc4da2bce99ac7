/// The HTTP proxy that connections go through, with or without TLS.
///
/// The proxy receives a `CONNECT` request and looks up the server's name. TLS goes through the proxy to the server, whose
/// certificate is verified as usual. With TLS, give the server's name instead of its address: a certificate for an address
/// cannot be verified through a proxy. The connection to the proxy itself is not encrypted.
public enum HTTPProxy: Hashable, Sendable {
    /// The proxy that the process's environment names when the client is created.
    ///
    /// | variable | used for |
    /// |---|---|
    /// | `https_proxy`, `HTTPS_PROXY` | connections with TLS |
    /// | `http_proxy` | connections without TLS |
    /// | `all_proxy`, `ALL_PROXY` | connections for which none of the others is set |
    /// | `no_proxy`, `NO_PROXY` | hosts without a proxy: entries as in ``server(host:port:credentials:exempting:)``, separated by commas |
    ///
    /// A value is a URL: `http://user:password@proxy.example.com:3128`. The default port is 80. Connections to `localhost`
    /// and to loopback addresses never use the proxy.
    case environment

    /// No proxy, whatever the environment says.
    case direct

    /// The given proxy.
    ///
    /// - Parameters:
    ///   - host: The proxy's host name or IP address.
    ///   - port: The proxy's port.
    ///   - credentials: The user name and password for basic authentication. Default: none.
    ///   - exempting: Hosts that the client connects to directly. Each is a name (`"example.com"` and `".example.com"`: the
    ///     host and its subdomains), an IP address, or a range of addresses (`"10.0.0.0/8"`), with an optional port after
    ///     a colon (`"example.com:6001"`). `"*"` stands for all hosts. Default: none.
    case server(host: String, port: Int, credentials: Credentials? = nil, exempting: [String] = [])

    /// A user name and a password. Printing it shows neither.
    public struct Credentials: Hashable, Sendable {
        /// The user name, without a colon.
        package var username: String
        /// The password.
        package var password: String

        /// Creates credentials.
        public init(username: String, password: String) {
            self.username = username
            self.password = password
        }
    }
}

extension HTTPProxy.Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The type's name, without the credentials.
    public var description: String { "Credentials" }
    /// The type's name, without the credentials.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
