/// The events that a connection requests from the generator in the path of the upgrade request. The path contains the
/// whole request. So the generator keeps no state between connections, and every implementation requests events in the
/// same way.
public struct Workload: Hashable, Sendable {
    /// The kind of the channels.
    public var kind = ChannelKind.public
    /// The number of channels. The events begin when all channels are subscribed, and go to the channels in turn.
    public var channels = 1
    /// The number of events.
    public var events = 0
    /// The size of an event's data, in bytes, before it becomes a JSON string.
    public var size = 100
    /// The maximum number of pending events, or zero for no limit. The generator sends this many events at first, and
    /// half as many for each `go-…` channel that is subscribed.
    public var window = 0
    /// Microseconds between two events; zero to send as fast as the socket accepts them.
    public var interval = 0
    /// The number of members of a presence channel when it is subscribed.
    public var members = 0
    /// Whether the events are a join of each member, and then a leave of each member.
    public var isPresenceStorm = false
    /// Whether the socket is closed when the last channel is subscribed.
    public var isDropped = false
    /// The number of client events before the one event that reports their arrival.
    public var clientEvents = 0

    /// A connection without events.
    public init() {}

    /// The kinds of channels.
    public enum ChannelKind: String, Sendable {
        /// Without authorization.
        case `public`
        /// With authorization.
        case `private`
        /// With encrypted events.
        case encrypted
        /// With members.
        case presence

        fileprivate var prefix: String {
            switch self {
            case .public: "channel-"
            case .private: "private-channel-"
            case .encrypted: "private-encrypted-channel-"
            case .presence: "presence-channel-"
            }
        }
    }

    /// Returns the name of a channel. All names have the same length, so all events have the same length.
    public func channelName(_ index: Int) -> String { kind.prefix + String(digits: index, count: 5) }

    /// Returns the name of the channel whose subscription requests more events.
    public static func goAheadName(_ index: Int) -> String { goAheadPrefix + String(digits: index, count: 5) }

    /// The prefix of the channels that request more events.
    public static let goAheadPrefix = "go-"

    /// The event's name.
    public static let eventName = "order-changed"

    /// The name of the event that reports the arrival of all client events.
    public static let completionName = "all-received"
}

extension Workload {
    /// The workload as the beginning of a path.
    public var path: String {
        let members: [(String, String)] = [
            ("kind", kind.rawValue), ("channels", "\(channels)"), ("events", "\(events)"), ("size", "\(size)"),
            ("window", "\(window)"), ("interval", "\(interval)"), ("members", "\(members)"),
            ("storm", isPresenceStorm ? "1" : "0"), ("drop", isDropped ? "1" : "0"),
            ("client-events", "\(clientEvents)"),
        ]
        return members.map { "/\($0)/\($1)" }.joined()
    }

    /// Reads a path that begins with a workload. Returns nil for other paths.
    public init?(path: String) {
        self.init()
        let parts = path.split(separator: "/")
        guard let end = parts.firstIndex(of: "app"), end.isMultiple(of: 2) else { return nil }
        for index in stride(from: 0, to: end, by: 2) {
            let value = parts[index + 1]
            if parts[index] == "kind" {
                guard let kind = ChannelKind(rawValue: String(value)) else { return nil }
                self.kind = kind
                continue
            }
            guard let number = Int(value), number >= 0 else { return nil }
            switch parts[index] {
            case "channels": channels = number
            case "events": events = number
            case "size": size = number
            case "window": window = number
            case "interval": interval = number
            case "members": members = number
            case "storm": isPresenceStorm = number == 1
            case "drop": isDropped = number == 1
            case "client-events": clientEvents = number
            default: return nil
            }
        }
    }
}

extension String {
    /// Writes the number with leading zeros.
    public init(digits number: Int, count: Int) {
        let digits = String(number)
        self.init(repeating: "0", count: Swift.max(count - digits.count, 0))
        append(digits)
    }
}
