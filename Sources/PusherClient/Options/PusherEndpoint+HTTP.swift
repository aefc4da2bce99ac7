extension PusherEndpoint {
    /// Where a server offers the HTTP transports. It uses TLS if the endpoint does.
    public struct HTTPAddress: Hashable, Sendable {
        /// A host name or an IP address.
        public var host: String
        /// The port.
        public var port: Int
        /// The part of the URLs' path before `/app/`, with a slash at its start; nil for none.
        public var path: String?

        /// The path of the hosted service, which pusher-js uses for every server.
        public static let defaultPath = "/pusher"

        /// Makes an address.
        ///
        /// - Parameters:
        ///   - host: A host name or an IP address.
        ///   - port: The port.
        ///   - path: The part of the URLs' path before `/app/`. Default: ``defaultPath``.
        public init(host: String, port: Int, path: String? = Self.defaultPath) {
            self.host = host
            self.port = port
            self.path = path
        }
    }

    /// Where the HTTP transports are: ``http``, or an address derived from the host. For `ws-eu.pusher.com` that is
    /// `sockjs-eu.pusher.com`, for the default cluster `sockjs.pusher.com`, and for any other host the same one.
    public var httpAddress: HTTPAddress { http ?? HTTPAddress(host: Self.httpHost(for: host), port: port) }

    private static func httpHost(for host: String) -> String {
        switch host {
        case "ws.pusherapp.com", "ws.pusher.com": return "sockjs.pusher.com"
        case _ where host.hasPrefix("ws-") && host.hasSuffix(".pusher.com"): return "sockjs" + host.dropFirst(2)
        default: return host
        }
    }
}
