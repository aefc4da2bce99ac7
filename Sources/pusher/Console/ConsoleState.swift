import PusherTestServer

/// The connections, channels and members that the page shows.
struct ConsoleState: Encodable, Equatable, Sendable {
    struct Connection: Encodable, Equatable, Sendable {
        var id: String
        var client: String
        var user: String?
        var channels: [String]
        var isSilent: Bool
    }

    struct Channel: Encodable, Equatable, Sendable {
        var name: String
        var subscriberCount: Int
        /// The users' ids; nil unless the channel is a presence channel.
        var members: [String]?
    }

    /// The oldest connections, at most ``listLimit``.
    var connections: [Connection]
    var connectionCount: Int
    /// The first channels by name, at most ``listLimit``.
    var channels: [Channel]
    var channelCount: Int
    /// The delay of messages, in milliseconds.
    var delay: Int
    /// Whether new connections are also silent.
    var isSilent: Bool

    /// The limit for the lists of connections and channels. ``connectionCount`` and ``channelCount`` also count the
    /// elements beyond the limit.
    private static let listLimit = 500

    init(_ server: PusherTestServer, delay: Int, isSilent: Bool) {
        let open = server.connections
        var subscriberCounts: [String: Int] = [:]
        for connection in open {
            for channel in connection.subscribedChannels { subscriberCounts[channel, default: 0] += 1 }
        }
        self.connectionCount = open.count
        self.connections = open.prefix(Self.listLimit).map { connection in
            Connection(
                id: connection.socketID,
                client: connection.request.clientName,
                user: connection.userID,
                channels: connection.subscribedChannels,
                isSilent: connection.isSilent
            )
        }
        self.channelCount = subscriberCounts.count
        self.channels = subscriberCounts.sorted { $0.key < $1.key }.prefix(Self.listLimit).map { name, count in
            let isPresence = name.hasPrefix("presence-")
            return Channel(
                name: name,
                subscriberCount: count,
                members: isPresence ? server.members(of: name).map(\.userID) : nil
            )
        }
        self.delay = delay
        self.isSilent = isSilent
    }
}
