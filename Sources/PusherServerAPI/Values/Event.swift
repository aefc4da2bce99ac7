public import Foundation
import RealtimeJSON
import RealtimePrimitives

extension PusherServerAPI {
    /// An event to trigger.
    public struct Event: Hashable, Sendable {
        /// The name: 1 to 200 bytes.
        public var name: String
        /// The data that subscribers get byte for byte, usually JSON.
        public var data: String
        /// The socket id of a connection that does not get the event. Usually, the client that caused the event has
        /// this connection. Default: `nil`.
        public var excludedSocketID: String?
        /// The attributes of the event's channels that the answer includes. Default: none.
        public var info: ChannelInfo

        /// Creates an event with text as its data.
        public init(_ name: String, data: String, excluding socketID: String? = nil, info: ChannelInfo = []) {
            self.name = name
            self.data = data
            excludedSocketID = socketID
            self.info = info
        }

        /// Creates an event whose data is a value. The library encodes the value as JSON, so a string gets quotes.
        /// If you pass no encoder, its own encoder writes what a new `JSONEncoder` writes, but does not escape slashes.
        ///
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed`` if JSON cannot
        ///   represent the value.
        public init(
            _ name: String,
            json value: some Encodable,
            encoder: JSONEncoder? = nil,
            excluding socketID: String? = nil,
            info: ChannelInfo = []
        ) throws(PusherServerAPIError) {
            let data = try PusherServerAPI.text(of: value, with: encoder, for: "the event \(name.quoted)")
            self.init(name, data: data, excluding: socketID, info: info)
        }
    }

    /// An event of a batch and its channel.
    public struct BatchEvent: Hashable, Sendable {
        /// The event for the channel.
        public var event: Event
        /// The channel's name.
        public var channel: String

        /// Creates an event of a batch.
        public init(_ event: Event, on channel: String) {
            self.event = event
            self.channel = channel
        }
    }

    /// Attributes of a channel that an answer can include.
    public struct ChannelInfo: OptionSet, Hashable, Sendable {
        /// The raw value.
        public let rawValue: Int

        /// Creates a set from its raw value.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// The number of users on a presence channel.
        public static let userCount = Self(rawValue: 1)
        /// The number of subscribed connections. You may have to enable this attribute in the settings of the
        /// application.
        public static let subscriptionCount = Self(rawValue: 2)
        /// The last event of a cache channel. For ``PusherServerAPI/channel(_:info:)`` only.
        public static let cache = Self(rawValue: 4)

        /// The text for the query and the body of requests; `nil` for an empty set.
        var text: String? {
            let names = [(Self.userCount, "user_count"), (.subscriptionCount, "subscription_count"), (.cache, "cache")]
            return isEmpty ? nil : names.filter { contains($0.0) }.map(\.1).joined(separator: ",")
        }
    }
}

extension PusherServerAPI {
    static func text(
        of value: some Encodable,
        with encoder: JSONEncoder?,
        for subject: String
    ) throws(PusherServerAPIError) -> String {
        do {
            return try JSONEncodingOptions().text(of: value, with: encoder)
        } catch {
            throw PusherServerAPIError(
                .encodingFailed,
                "Encoding of \(subject) failed: JSON cannot represent the value. The error's cause names the part.",
                cause: error
            )
        }
    }
}
