import PusherProtocol

/// The server to connect to, in PusherSwift's terms. New code uses ``PusherEndpoint``.
public enum PusherHost: Hashable, Sendable {
    /// A host name or an IP address, without a scheme and without a port: `"ws.example.com"`, `"127.0.0.1"`, `"::1"`.
    case host(String)
    /// A cluster of the hosted service: `.cluster("eu")` stands for `ws-eu.pusher.com`.
    case cluster(String)

    /// Returns the cluster that ``cluster(_:)`` has turned into this host name; nil for other hosts.
    static func cluster(ofHost host: String) -> String? { ClusterName.cluster(ofHost: host, prefix: "ws-") }

    /// The default host of the hosted service: `ws.pusherapp.com`.
    public static var defaultHost: PusherHost { .host("ws.pusherapp.com") }

    /// The host name.
    public var stringValue: String {
        switch self {
        case .host(let host): host
        case .cluster(let cluster): "ws-\(cluster).pusher.com"
        }
    }
}
