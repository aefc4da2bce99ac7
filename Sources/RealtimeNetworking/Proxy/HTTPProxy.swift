/// The HTTP proxy that connections go through, with or without TLS.
///
/// The proxy receives a `CONNECT` request and looks up the server's name. TLS goes through the proxy to the server, and
/// the client verifies the server's certificate as usual. With TLS, use the server's name instead of its address,
/// because the client cannot verify a certificate for an address through a proxy. The connection to the proxy itself is
/// not encrypted.
public enum HTTPProxy: Hashable, Sendable {
    /// The proxy in the environment variables of the process at the time when your code creates the client.
    ///
    /// | variable | used for |
    /// |---|---|
    /// | `https_proxy`, `HTTPS_PROXY` | connections with TLS |
    /// | `http_proxy` | connections without TLS |
    /// | `all_proxy`, `ALL_PROXY` | connections whose own variable is not set |
    /// | `no_proxy`, `NO_PROXY` | hosts without a proxy: entries as in ``server(host:port:credentials:exempting:)``, separated by commas or spaces |
    ///
    /// A value is a URL: `http://user:password@proxy.example.com:3128`. The default port is 80. Connections to
    /// `localhost` and to loopback addresses never use the proxy.
    case environment

    /// No proxy, regardless of the environment.
    case direct

    /// The given proxy.
    ///
    /// - Parameters:
    ///   - host: The proxy's host name or IP address.
    ///   - port: The proxy's port.
    ///   - credentials: The user name and password for basic authentication. Default: none.
    ///   - exempting: Hosts that the client connects to directly. Each entry is a name, an IP address, or a range of
    ///     addresses (`"10.0.0.0/8"`). The names `"example.com"` and `".example.com"` stand for the host and its
    ///     subdomains. An entry can have a port after a colon (`"example.com:6001"`). `"*"` stands for all hosts.
    ///     Default: none.
    case server(host: String, port: Int, credentials: Credentials? = nil, exempting: [String] = [])

    /// A user name and a password. Printing the credentials shows neither value.
    public struct Credentials: Hashable, Sendable {
        /// The user name, without a colon.
        package var username: String
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
