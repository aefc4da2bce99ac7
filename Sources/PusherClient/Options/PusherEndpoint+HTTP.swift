extension PusherEndpoint {
    /// The address of a server's HTTP transports. The client uses TLS for this address if the endpoint uses TLS.
    public struct HTTPAddress: Hashable, Sendable {
        /// A host name or an IP address.
        public var host: String
        /// The port.
        public var port: Int
        /// The part of the URLs' path before `/app/`, with a leading slash; nil if there is no such part.
        public var path: String?

        /// The path of the hosted service, which pusher-js uses for every server.
        public static let defaultPath = "/pusher"

        /// Creates an address.
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

    /// The address of the HTTP transports: ``http``, or an address derived from the host. For `ws-eu.pusher.com` the
    /// derived host is `sockjs-eu.pusher.com`, and for the default cluster `sockjs.pusher.com`. Any other host stays
    /// the same.
    public var httpAddress: HTTPAddress { http ?? HTTPAddress(host: Self.httpHost(for: host), port: port) }

    private static func httpHost(for host: String) -> String {
        switch host {
        case "ws.pusherapp.com", "ws.pusher.com": return "sockjs.pusher.com"
        case _ where host.hasPrefix("ws-") && host.hasSuffix(".pusher.com"): return "sockjs" + host.dropFirst(2)
        default: return host
        }
    }
}
