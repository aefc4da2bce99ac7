/// The address of a server that supports the Pusher Channels protocol: host, port, path and TLS. The app key is
/// separate.
///
/// ```swift
/// let options = PusherClientOptions(endpoint: .reverb(host: "ws.example.com"))
/// ```
/// Invalid parts do not trap. The client makes no attempt, and reports which part is invalid.
public struct PusherEndpoint: Hashable, Sendable {
    /// A host name or an IP address, without a scheme and without a port: `"ws.example.com"`, `"127.0.0.1"`, `"::1"`.
    public var host: String
    /// The port.
    public var port: Int
    /// The part of the URL's path before `/app/`, with a leading slash; nil if there is no such part.
    public var path: String?
    /// Whether the connection is encrypted: `wss` rather than `ws`.
    public var useTLS: Bool
    /// The address of the HTTP transports; nil for the address that ``httpAddress`` derives from the host. The client
    /// uses the address only if ``PusherClientOptions/transports`` include HTTP.
    public var http: HTTPAddress?

    /// Creates an endpoint.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 443 with TLS, 80 without.
    ///   - path: The part of the URL's path before `/app/`. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    ///   - http: The address of the HTTP transports. Default: the address that ``httpAddress`` derives.
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

    /// Makes the endpoint of a cluster of the hosted service, over TLS: `.pusher(cluster: "eu")` is
    /// `wss://ws-eu.pusher.com:443`.
    public static func pusher(cluster: String) -> Self { Self(host: PusherHost.cluster(cluster).stringValue) }

    /// Makes the endpoint of a Laravel Reverb server. Laravel's settings `REVERB_HOST`, `REVERB_PORT` and
    /// `REVERB_SCHEME` correspond to `host`, `port` and `useTLS`.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default with TLS: 443, the usual port of a proxy in front of Reverb. Default without TLS:
    ///     8080, the port of `php artisan reverb:start`.
    ///   - path: The server's `path`, with a leading slash. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true.
    public static func reverb(host: String, port: Int? = nil, path: String? = nil, useTLS: Bool = true) -> Self {
        Self(host: host, port: port ?? (useTLS ? 443 : 8_080), path: path, useTLS: useTLS)
    }

    /// Makes the endpoint of a soketi server. By default, soketi uses no TLS:
    /// `.soketi(host: "127.0.0.1", useTLS: false)`.
    ///
    /// - Parameters:
    ///   - host: A host name or an IP address.
    ///   - port: The port. Default: 6001, with TLS and without.
    ///   - path: The server's path prefix, with a leading slash. Default: nothing.
    ///   - useTLS: Whether the connection is encrypted. Default: true. soketi itself needs a certificate for TLS.
    public static func soketi(host: String, port: Int = 6_001, path: String? = nil, useTLS: Bool = true) -> Self {
        Self(host: host, port: port, path: path, useTLS: useTLS)
    }
}
