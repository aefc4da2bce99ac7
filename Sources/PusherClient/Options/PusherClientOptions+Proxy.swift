extension PusherClientOptions {
    /// Whether connections go through an HTTP proxy, by `CONNECT`: the WebSocket and authorization requests, over TLS
    /// or not.
    ///
    /// The proxy looks up the names of servers. TLS goes through it to the server, whose certificate is verified as
    /// ever; with TLS a server must be given by its name, as a certificate for an address cannot be verified through a
    /// proxy. The connection to the proxy itself is not encrypted.
    public enum Proxy: Hashable, Sendable {
        /// What the process's environment says when the client is made, much as curl reads it: the URL in `https_proxy`
        /// for connections over TLS, the one in `http_proxy` for others, else the one in `all_proxy`, each in small
        /// letters or, but for `http_proxy`, in capitals: `http://user:password@proxy.example.com:3128`, port 80 where
        /// there is none. Not for the hosts in `no_proxy`, which is read as
        /// ``server(host:port:credentials:exempting:)`` reads its list, with commas between; and never for `localhost`
        /// and loopback addresses. Without these variables there is no proxy.
        case environment

        /// No proxy, whatever the environment says.
        case direct

        /// This one.
        ///
        /// - Parameters:
        ///   - host: The proxy's host name or IP address.
        ///   - port: Its port.
        ///   - credentials: What it is sent as basic authentication. Default: nothing.
        ///   - exempting: The hosts that are connected to directly. Each is a name (`"example.com"` and
        ///     `".example.com"`: the host and those below it), an IP address, a range of them (`"10.0.0.0/8"`), perhaps
        ///     with a port after a colon (`"example.com:6001"`), or `"*"` for all. Default: none.
        case server(host: String, port: Int, credentials: Credentials? = nil, exempting: [String] = [])

        /// A user name and a password. Printing it shows nothing of either.
        public struct Credentials: Hashable, Sendable {
            /// The user name, without a colon.
            public var username: String
            /// The password.
            public var password: String

            /// Makes credentials.
            public init(username: String, password: String) {
                self.username = username
                self.password = password
            }
        }
    }
}

extension PusherClientOptions.Proxy.Credentials: CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    /// Nothing of the credentials.
    public var description: String { "Credentials" }
    /// Nothing of the credentials.
    public var debugDescription: String { description }
    /// Nothing: what `dump` shows beside the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
