public import Foundation
import PusherProtocol

extension PusherServerAPI {
    /// A request from a server to a backend that reports what has happened on channels.
    public struct Webhook: Hashable, Sendable {
        /// When the server made it.
        public var time: Date
        /// The events, in their order.
        public var events: [WebhookEvent]

        /// Makes a webhook, for tests.
        public init(time: Date, events: [WebhookEvent]) {
            self.time = time
            self.events = events
        }
    }

    /// An event of a webhook. Properties that do not belong to its name are `nil`.
    public struct WebhookEvent: Hashable, Sendable {
        /// The kind of a webhook event. New names may come: keep a `default` when you switch over them.
        public struct Name: RawRepresentable, Hashable, Sendable {
            /// The name as the server writes it.
            public let rawValue: String

            /// Makes a name.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// A channel got its first subscriber.
            public static let channelOccupied = Self(rawValue: "channel_occupied")
            /// A channel lost its last subscriber.
            public static let channelVacated = Self(rawValue: "channel_vacated")
            /// A user came to a presence channel: see ``WebhookEvent/userId``.
            public static let memberAdded = Self(rawValue: "member_added")
            /// A user left a presence channel: see ``WebhookEvent/userId``.
            public static let memberRemoved = Self(rawValue: "member_removed")
            /// A client sent an event: see ``WebhookEvent/event``, ``WebhookEvent/data`` and ``WebhookEvent/socketID``.
            public static let clientEvent = Self(rawValue: "client_event")
            /// A client subscribed to a cache channel without a cached event.
            public static let cacheMiss = Self(rawValue: "cache_miss")
            /// The number of a channel's subscribers has changed: see ``WebhookEvent/subscriptionCount``.
            public static let subscriptionCount = Self(rawValue: "subscription_count")
        }

        /// The kind of the event.
        public var name: Name
        /// The channel's name.
        public var channel: String?
        /// The user's id.
        public var userId: String?
        /// The name of the event that a client sent.
        public var event: String?
        /// The data of the event that a client sent: the text, or the JSON text of another value.
        public var data: String?
        /// The connection of the client that sent the event.
        public var socketID: String?
        /// How many subscribers the channel has.
        public var subscriptionCount: Int?

        /// Makes an event, for tests.
        public init(
            _ name: Name,
            channel: String? = nil,
            userId: String? = nil,
            event: String? = nil,
            data: String? = nil,
            socketID: String? = nil,
            subscriptionCount: Int? = nil
        ) {
            self.name = name
            self.channel = channel
            self.userId = userId
            self.event = event
            self.data = data
            self.socketID = socketID
            self.subscriptionCount = subscriptionCount
        }

        /// Nil if the value is not an object with a name.
        init?(_ value: JSONValue) {
            guard let name = value["name"]?.string else { return nil }
            self.init(
                Name(rawValue: name),
                channel: value["channel"]?.string,
                userId: value["user_id"]?.identifier,
                event: value["event"]?.string,
                data: value["data"].map { $0.string ?? $0.jsonText },
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
