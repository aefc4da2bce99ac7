public import Foundation
import PusherProtocol
import RealtimeJSON

extension PusherServerAPI {
    /// A server's request to a backend, with events on channels.
    public struct Webhook: Hashable, Sendable {
        /// The time when the server made the webhook.
        public var time: Date
        /// The events, in the order of the webhook.
        public var events: [WebhookEvent]

        /// Creates a webhook, for tests.
        public init(time: Date, events: [WebhookEvent]) {
            self.time = time
            self.events = events
        }
    }

    /// An event of a webhook. A property is `nil` if events of this kind do not have the property.
    public struct WebhookEvent: Hashable, Sendable {
        /// The kind of a webhook event. Servers may add names, so keep a `default` when you switch over names.
        public struct Name: RawRepresentable, Hashable, Sendable {
            /// The name as the server writes it.
            public let rawValue: String

            /// Creates a name.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// A channel got its first subscriber.
            public static let channelOccupied = Self(rawValue: "channel_occupied")
            /// A channel lost its last subscriber.
            public static let channelVacated = Self(rawValue: "channel_vacated")
            /// A user joined a presence channel; see ``WebhookEvent/userID``.
            public static let memberAdded = Self(rawValue: "member_added")
            /// A user left a presence channel; see ``WebhookEvent/userID``.
            public static let memberRemoved = Self(rawValue: "member_removed")
            /// A client sent an event; see ``WebhookEvent/event``, ``WebhookEvent/data`` and ``WebhookEvent/socketID``.
            public static let clientEvent = Self(rawValue: "client_event")
            /// A client subscribed to a cache channel without a cached event.
            public static let cacheMiss = Self(rawValue: "cache_miss")
            /// The number of a channel's subscribers has changed; see ``WebhookEvent/subscriptionCount``.
            public static let subscriptionCount = Self(rawValue: "subscription_count")
        }

        /// The kind of the event.
        public var name: Name
        /// The channel's name.
        public var channel: String?
        /// The user's id.
        public var userID: String?
        /// The name of the event that a client sent.
        public var event: String?
        /// The data of the event that a client sent, as text. A value other than a string is JSON text.
        public var data: String?
        /// The socket id of the client that sent the event; nil for events that no client sent.
        public var socketID: String?
        /// The number of the channel's subscribers.
        public var subscriptionCount: Int?

        /// Creates an event, for tests.
        public init(
            _ name: Name,
            channel: String? = nil,
            userID: String? = nil,
            event: String? = nil,
            data: String? = nil,
            socketID: String? = nil,
            subscriptionCount: Int? = nil
        ) {
            self.name = name
            self.channel = channel
            self.userID = userID
            self.event = event
            self.data = data
            self.socketID = socketID
            self.subscriptionCount = subscriptionCount
        }

        /// Reads an event. Returns nil if the value is not an object with a name.
        init?(_ node: JSONNode) throws {
            let value = try JSONValue(node)
            guard let name = value["name"]?.string else { return nil }
            self.init(
                Name(rawValue: name),
                channel: value["channel"]?.string,
                userID: value["user_id"]?.identifier,
                event: value["event"]?.string,
                data: node["data"].map { $0.string ?? $0.text },
                socketID: value["socket_id"]?.string,
                subscriptionCount: value["subscription_count"]?.integer
            )
        }
    }
}

extension PusherServerAPI.WebhookEvent.Name: CustomStringConvertible {
    /// The name as the server writes it.
    public var description: String { rawValue }
}
