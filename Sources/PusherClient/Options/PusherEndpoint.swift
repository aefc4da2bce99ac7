/// A server that speaks the Pusher Channels protocol: everything of its address but the app key.
///
/// ```swift
/// let options = PusherClientOptions(endpoint: .reverb(host: "ws.example.com"))
/// ```
/// Parts that cannot be used do not trap: the client that gets them makes no attempt, and says which part it is.
public struct PusherEndpoint: Hashable, Sendable {
    /// A host name or an IP address, without a scheme and without a port: `"ws.example.com"`, `"127.0.0.1"`, `"::1"`.
    public var host: String
    /// The port.
    public var port: Int
    /// What stands before `/app/` in the path of the URL, with a slash at its start; nil for nothing.
    public var path: String?
    /// Whether the connection is encrypted: `wss` rather than `ws`.
    public var useTLS: Bool
    /// Where the HTTP transports are; nil for what ``httpAddress`` says then. Only ``PusherClientOptions/transports`` with HTTP
    /// need it.
    public var http: HTTPAddress?

    /// Makes an endpoint.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: What stands before `/app/` in the path of the URL. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    ///   - http: Where the HTTP transports are. Default: what ``httpAddress`` says.
    public init(
        host: String,
        port: Int? = nil,
        path: String? = nil,
        useTLS: Bool = true,
        http: HTTPAddress? = nil
    ) {
        self.host = host
        self.port = port ?? (useTLS ? 443 : 80)
        self.path = path
        self.useTLS = useTLS
        self.http = http
    }

    /// A cluster of the hosted service, over TLS: `.pusher(cluster: "eu")` is `wss://ws-eu.pusher.com:443`.
    public static func pusher(cluster: String) -> Self { Self(host: PusherHost.cluster(cluster).stringValue) }

    /// A Laravel Reverb server. What Laravel's settings call `REVERB_HOST`, `REVERB_PORT` and `REVERB_SCHEME` are its
    /// host, port, and whether it uses TLS.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 443 with TLS, where a proxy in front of Reverb commonly listens; 8080 without,
    ///     where `php artisan reverb:start` does.
    ///   - path: The server's `path`, with a slash at its start. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    public static func reverb(host: String, port: Int? = nil, path: String? = nil, useTLS: Bool = true) -> Self {
        Self(host: host, port: port ?? (useTLS ? 443 : 8_080), path: path, useTLS: useTLS)
    }

    /// A soketi server. One that runs as it was installed speaks without TLS:
    /// `.soketi(host: "127.0.0.1", useTLS: false)`.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 6001, where soketi listens with TLS and without.
    ///   - path: The server's path prefix, with a slash at its start. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true; soketi itself needs a certificate for it.
    public static func soketi(host: String, port: Int = 6_001, path: String? = nil, useTLS: Bool = true) -> Self {
        Self(host: host, port: port, path: path, useTLS: useTLS)
    }
}
