/// Changes payloads between the app and the wire, for both directions of all channels: to compress them, to cut
/// those that are too long for the server into parts, to sign them.
///
/// It stands between the protocol and everything that delivers events: callbacks and sequences get what it makes of the
/// events that come, in their order, encrypted ones after they were decrypted; and the server gets what it makes of
/// client events. Events of the protocol itself, whose names begin with `pusher:`, do not pass through it. See
/// <doc:Production> for an example.
public protocol PayloadTransformer: Sendable {
    /// Makes what reads the events of one channel, from one subscription to its end: each time the channel is
    /// subscribed, so that parts from before a loss are never joined with later ones. Called on
    /// the client's event loop.
    ///
    /// - Parameter channelName: The channel, or that of the user's own events, which begins with `#server-to-user-`.
    func makeReader(channelName: String) -> any PayloadReader

    /// Returns the payloads to send for a client event, in order: the payload itself, another one, several, or none.
    /// Called in the task or on the thread that sends, by several at once.
    ///
    /// The data is what a receiver would get as ``PusherEvent/data``: a string as it is, anything else as JSON text;
    /// and what is returned is what the receiver's ``PayloadReader/incoming(_:)`` gets, text of any kind. What is JSON
    /// of an object or a list goes out as such, unless ``PusherClientOptions/clientEventEncoding`` is
    /// ``PusherClientOptions/ClientEventEncoding/string``. The names must be those of client events. Several payloads
    /// begin to wait together or not at all, and each counts for
    /// ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` and
    /// ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``; a loss may come between them, or the end of
    /// the task that sends, so receivers must be ready for a part without the others.
    ///
    /// The default is the payload itself.
    ///
    /// - Throws: What is the cause of the error that the sender gets, of code
    ///   ``PusherClientError/Code/payloadTransformerFailed``.
    func outgoing(_ payload: EventPayload) throws -> [EventPayload]
}

extension PayloadTransformer {
    /// The payload itself.
    public func outgoing(_ payload: EventPayload) throws -> [EventPayload] { [payload] }
}

/// Reads the events of a channel, one after the other: see ``PayloadTransformer``. It may keep what it needs between
/// them, within bounds of its own.
public protocol PayloadReader {
    /// Returns the payloads that the app gets for an event: the payload itself, another one, several, or none if it is
    /// a part of what is not complete. Called on the client's event loop: it must not block.
    ///
    /// - Throws: What is the cause of an error of code ``PusherClientError/Code/payloadTransformerFailed``, which is
    ///   reported; the app does not get the event.
    mutating func incoming(_ payload: EventPayload) throws -> [EventPayload]
}

/// The content of an event: see ``PayloadTransformer``.
public struct EventPayload: Hashable, Sendable {
    /// The event's name.
    public var eventName: String
    /// The data: text, mostly JSON; nil if there is none.
    public var data: String?
    /// The channel.
    public let channelName: String
    /// The user who sent it, for client events that come on presence channels.
    public let userId: String?

    /// Makes a payload: for tests of a transformer.
    public init(eventName: String, data: String?, channelName: String, userId: String? = nil) {
        self.eventName = eventName
        self.data = data
        self.channelName = channelName
        self.userId = userId
    }

    /// Whether nothing was changed: texts that are equal may be written with other bytes.
    func hasBytes(of other: EventPayload) -> Bool {
        Self.haveSameBytes(eventName, other.eventName) && Self.haveSameBytes(data, other.data)
    }

    static func haveSameBytes(_ first: String?, _ second: String?) -> Bool {
        (first == nil) == (second == nil) && (first ?? "").utf8.elementsEqual((second ?? "").utf8)
    }
}

extension PusherClientError {
    /// For what a transformer of the user threw. Its text is not repeated, here or by ``description``: nobody knows
    /// what is in it.
    static func transformerThrew(_ error: any Error, _ what: String, _ channelName: String) -> Self {
        PusherClientError(
            .payloadTransformerFailed,
            "\(what): the payload transformer threw an error of type \(type(of: error)); it is the cause of this one",
            channelName: channelName,
            cause: error
        )
    }
}
