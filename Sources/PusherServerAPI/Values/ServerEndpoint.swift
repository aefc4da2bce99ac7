import PusherProtocol
import RealtimeNetworking
import RealtimePrimitives

extension PusherServerAPI {
    /// The address of a server's REST API.
    public struct Endpoint: Hashable, Sendable {
        /// A host name or an IP address, without a scheme and without a port: `"ws.example.com"`, `"127.0.0.1"`,
        /// `"::1"`.
        public var host: String
        /// The port.
        public var port: Int
        /// The path before `/apps/` in URLs, with a slash at its start; `nil` for no path. A proxy must remove this
        /// path, because signatures do not cover it.
        public var path: String?
        /// Whether connections are encrypted (`https` instead of `http`).
        public var useTLS: Bool

        /// Creates an endpoint of soketi, Reverb, or any other server.
        ///
        /// - Parameters:
        ///   - host: A host name or an IP address.
        ///   - port: The port. Default: 443 with TLS, 80 without TLS.
        ///   - path: The part of the URLs' path before `/apps/`. Default: `nil`.
        ///   - useTLS: Whether connections are encrypted. Default: true.
        public init(host: String, port: Int? = nil, path: String? = nil, useTLS: Bool = true) {
            self.host = host
            self.port = port ?? (useTLS ? 443 : 80)
            self.path = path
            self.useTLS = useTLS
        }

        /// Makes an endpoint of a cluster of the hosted service, with TLS. `.pusher(cluster: "eu")` is
        /// `https://api-eu.pusher.com:443`.
        public static func pusher(cluster: String) -> Self { Self(host: "api-\(cluster).pusher.com") }

        /// The beginning of every URL, up to `/apps`.
        var url: String {
            let host = HostName.withBrackets(HostName.withoutBrackets(host))
            return "\(useTLS ? "https" : "http")://\(host):\(port)\(prefix)"
        }

        /// The path without a slash at the end, because "/apps" begins with a slash.
        private var prefix: String { path.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "" }

        func check() throws(PusherServerAPIError) {
            if let fault = ClusterName.cluster(ofHost: host, prefix: "api-").flatMap(ClusterName.fault) {
                throw PusherServerAPIError(.invalidOption, fault)
            }
            guard HostName.isValid(HostName.withoutBrackets(host)) else {
                // Do not show the host, because the text before an @ may be a password.
                let shown = host.contains("@") ? "" : " \(host.quoted)"
                throw PusherServerAPIError(
                    .invalidOption,
                    """
                    Invalid host\(shown): it is neither a host name nor an IP address. Give it without a scheme, a path and \
                    a port.
                    """
                )
            }
            guard (1...65_535).contains(port) else {
                throw PusherServerAPIError(.invalidOption, "Invalid port \(port): it is not between 1 and 65535.")
            }
            guard prefix.isEmpty || prefix.utf8.first == UInt8(ascii: "/"),
                prefix.utf8.allSatisfy({ $0.isUnreserved || "/%!$&'()*+,;=:@".utf8.contains($0) })
            else {
                throw PusherServerAPIError(
                    .invalidOption,
                    "Invalid path \((path ?? "").quoted): it must start with a slash, and have no characters that a URL must escape."
                )
            }
        }
    }
}

extension PusherServerAPI.Endpoint: CustomStringConvertible {
    /// The beginning of every URL.
    public var description: String { url }
}
