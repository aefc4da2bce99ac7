public import Foundation
import PusherProtocol
import RealtimeJSON
import RealtimePrimitives

/// An event from the server, or an event that the client makes itself, such as `pusher:subscription_error`.
public final class PusherEvent: Sendable {
    /// The event's name.
    public let eventName: String
    /// The event's channel; nil if the event has no channel.
    public let channelName: String?
    /// The data: the string that the publisher sent, usually JSON. If the server sent an object or another JSON value,
    /// the data is the JSON text of that value. Nil if the event has no data.
    public let data: String?
    /// The user who sent the event, for client events on presence channels; otherwise nil.
    public let userId: String?
    /// The error of a failed subscription, for the event `pusher:subscription_error`; otherwise nil.
    public var subscriptionError: SubscriptionError? {
        guard case .subscription(let error)? = failure else { return nil }
        return error
    }
    private let failure: Failure?
    private let isDataEncodedOnce: Bool
    private let decoding: JSONDecodingOptions
    private let unknownKeysText: String?

    /// The failure that an event reports. The type is indirect, because failures are large, and few events have a
    /// failure.
    private indirect enum Failure: Sendable {
        case subscription(SubscriptionError)
    }

    /// Creates an event, for tests of code that handles events.
    ///
    /// - Parameters:
    ///   - eventName: The event's name.
    ///   - channelName: The channel. Default: none.
    ///   - data: The data, as a publisher's string. Default: none.
    ///   - userId: The user who sent the event. Default: none.
    public convenience init(
        eventName: String,
        channelName: String? = nil,
        data: String? = nil,
        userId: String? = nil
    ) {
        let payload = data.map { Envelope.Payload.string($0) } ?? .none
        let envelope = Envelope(event: eventName, channel: channelName, data: payload, userID: userId)
        self.init(envelope, decoding: JSONDecodingOptions())
    }

    init(
        _ envelope: consuming Envelope,
        decoding: JSONDecodingOptions,
        subscriptionError: SubscriptionError? = nil
    ) {
        self.decoding = decoding
        failure = subscriptionError.map { .subscription($0) }
        eventName = envelope.event
        channelName = envelope.channel
        data = envelope.data.text
        userId = envelope.userID
        unknownKeysText = envelope.unknownKeysText
        if case .json = envelope.data { isDataEncodedOnce = true } else { isDataEncodedOnce = false }
    }

    /// Creates an event from an ordinary message.
    init(eventName: String, channelName: String?, data: String?, userID: String?, decoding: JSONDecodingOptions) {
        failure = nil
        self.decoding = decoding
        self.eventName = eventName
        self.channelName = channelName
        self.data = data
        userId = userID
        unknownKeysText = nil
        isDataEncodedOnce = false
    }

    /// The memory that the event takes, in bytes. Events share names of the usual length, so only longer names count.
    var size: Int {
        func excess(_ name: String?) -> Int { max(0, (name?.utf8.count ?? 0) - EventName.maximumLength) }
        return 256 + (data?.utf8.count ?? 0) + (unknownKeysText?.utf8.count ?? 0) + excess(eventName)
            + excess(channelName) + excess(userId)
    }

    /// Creates a copy of an event with the payload that a ``PayloadTransformer`` made.
    init(_ original: PusherEvent, carrying payload: EventPayload) {
        failure = original.failure
        decoding = original.decoding
        eventName = payload.eventName
        channelName = original.channelName
        data = payload.data
        userId = original.userId
        unknownKeysText = original.unknownKeysText
        isDataEncodedOnce = original.isDataEncodedOnce && EventPayload.haveSameBytes(payload.data, original.data)
    }

    /// Returns the value under a key of the message's envelope, as `JSONSerialization` would give it; nil if the key
    /// is missing.
    ///
    /// The key `"data"` gives the string, or any other value that the server sent. For an encrypted event, `"data"`
    /// gives the decrypted text. The key `"user_id"` gives a string, even if the server sent a number. Keys that the
    /// protocol does not define work too.
    public func property(withKey key: String) -> Any? {
        switch key {
        case "event": return eventName
        case "channel": return channelName
        case "user_id": return userId
        case "data": return isDataEncodedOnce ? data.flatMap(UntypedJSON.value) : data
        default:
            guard let members = unknownKeysText.flatMap(UntypedJSON.value) as? [String: Any] else { return nil }
            return members[key]
        }
    }

    /// Decodes the data from JSON.
    ///
    /// - Parameters:
    ///   - type: The type of the data.
    ///   - decoder: The decoder. Default: the client's own decoder with ``PusherClientOptions/decoding``. If you pass a
    ///     decoder, a number of 2^53 or more that is written with more than 64 characters is an error, even if the type
    ///     has no use for it, because on Linux such a number can end the process.
    /// - Throws: ``PusherClientError`` with the code ``PusherClientError/Code/undecodableData``, if there is no data,
    ///   or the data cannot be decoded as the type. The decoder's error is the cause.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self,
        decoder: JSONDecoder? = nil
    ) throws -> Value {
        guard let data else { throw undecodable(as: type, cause: nil) }
        do {
            return try decoding.decode(type, from: data, with: decoder)
        } catch {
            throw undecodable(as: type, cause: error)
        }
    }

    private func undecodable<Value>(as type: Value.Type, cause: (any Error)?) -> PusherClientError {
        let reason = cause.map { "it does not fit '\(type)', because \(DecodingFailure.explanation(of: $0))" }
        var error = PusherClientError(
            .undecodableData,
            "Data of the event \(eventName.quoted) not decoded: \(reason ?? "there is no data").",
            channelName: channelName,
            cause: cause
        )
        error.setEventName(eventName)
        return error
    }
}

extension PusherEvent: NSCopying {
    /// Returns the event itself, because it is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns the event itself.
    public func copy() -> Any { self }
}

extension PusherEvent: CustomStringConvertible {
    /// The names, and the size of the data. The description omits the payload, because descriptions often appear in
    /// logs.
    public var description: String {
        let size = data.map { "\($0.utf8.count) bytes" } ?? "no data"
        return "PusherEvent(\(eventName), \(channelName ?? "no channel"), \(size))"
    }
}

extension PusherEvent: Hashable {
    /// Returns whether both values are the same event object.
    public static func == (left: PusherEvent, right: PusherEvent) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
