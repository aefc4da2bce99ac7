public import Foundation
import RealtimePrimitives

extension PusherServerAPI {
    /// An event to trigger.
    public struct Event: Hashable, Sendable {
        /// The name: 1 to 200 bytes.
        public var name: String
        /// The text that subscribers get, byte for byte: usually JSON.
        public var data: String
        /// The connection that does not get the event, usually that of the client which caused it. Default: `nil`.
        public var excludedSocketID: String?
        /// The attributes of the event's channels that the answer includes. Default: none.
        public var info: ChannelInfo

        /// Makes an event with text as its data.
        public init(_ name: String, data: String, excluding socketID: String? = nil, info: ChannelInfo = []) {
            self.name = name
            self.data = data
            excludedSocketID = socketID
            self.info = info
        }

        /// Makes an event whose data is a value, written as JSON. A string gets quotes.
        ///
        /// - Throws: ``PusherServerAPIError`` with ``PusherServerAPIError/Code/encodingFailed`` if the value cannot be
        ///   written as JSON.
        public init(
            _ name: String,
            json value: some Encodable,
            encoder: JSONEncoder = JSONEncoder(),
            excluding socketID: String? = nil,
            info: ChannelInfo = []
        ) throws(PusherServerAPIError) {
            let data = try JSONEncoder.text(of: value, with: encoder, for: "the event \(name.quoted)")
            self.init(name, data: data, excluding: socketID, info: info)
        }
    }

    /// An event of a batch, and its channel.
    public struct BatchEvent: Hashable, Sendable {
        /// The event.
        public var event: Event
        /// The channel's name.
        public var channel: String

        /// Makes an event of a batch.
        public init(_ event: Event, on channel: String) {
            self.event = event
            self.channel = channel
        }
    }

    /// Attributes of a channel that an answer can include.
    public struct ChannelInfo: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: Int

        /// Makes a set of its bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// How many users are on the channel. For presence channels.
        public static let userCount = Self(rawValue: 1)
        /// How many connections have subscribed. It must be enabled for some applications.
        public static let subscriptionCount = Self(rawValue: 2)
        /// The last event of a cache channel. For ``PusherServerAPI/channel(_:info:)`` only.
        public static let cache = Self(rawValue: 4)

        /// The text for the query and the body of requests; `nil` if it is empty.
        var text: String? {
            let names = [(Self.userCount, "user_count"), (.subscriptionCount, "subscription_count"), (.cache, "cache")]
            return isEmpty ? nil : names.filter { contains($0.0) }.map(\.1).joined(separator: ",")
        }
    }
}

extension JSONEncoder {
    static func text(
        of value: some Encodable,
        with encoder: JSONEncoder,
        for subject: String
    ) throws(PusherServerAPIError) -> String {
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw PusherServerAPIError(
                .encodingFailed,
                "Encoding of \(subject) failed: the value cannot be written as JSON. The cause says which part.",
                cause: error
            )
        }
    }
}
