/// A type that changes payloads between the app and the server, in both directions and for all channels. Use it, for
/// example, to compress or sign payloads, or to split payloads that are too long for the server.
///
/// For received events, callbacks and sequences get the transformer's output, in order. Encrypted events pass through
/// the transformer after decryption. For client events, the server gets the transformer's output. Events of the
/// protocol itself, whose names begin with `pusher:`, do not pass through the transformer. See <doc:Production> for an
/// example.
public protocol PayloadTransformer: Sendable {
    /// Makes a reader for the events of one channel during one subscription. Each subscription gets its own reader, so
    /// that a reader never joins parts from before a loss with later parts. The client calls this method on its event
    /// loop.
    ///
    /// - Parameter channelName: The channel, or the channel of the user's own events, which begins with
    ///   `#server-to-user-`.
    func makeReader(channelName: String) -> any PayloadReader

    /// Returns the payloads to send for a client event, in order: the payload itself, another payload, several
    /// payloads, or an empty array. The client calls this method on the task or thread that sends the event, so several
    /// calls may run at once.
    ///
    /// The payload's data is the text that a receiver would get as ``PusherEvent/data``. A string stays unchanged, and
    /// any other value becomes JSON text. The receiver's ``PayloadReader/incoming(_:)`` gets the returned text, which
    /// may be any text. The client sends JSON objects and lists as JSON values, unless
    /// ``PusherClientOptions/clientEventEncoding`` is ``PusherClientOptions/ClientEventEncoding/string``. Each event
    /// name must be valid for a client event. If the payloads of one event have to wait, the client queues either all
    /// of them or none. Each payload counts toward ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` and
    /// ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``. Receivers must handle a part without the
    /// others, because the client may lose the connection between two payloads, or your code may cancel the sending
    /// task.
    ///
    /// The default implementation returns the payload itself.
    ///
    /// - Throws: Any error. The sender gets an error with the code ``PusherClientError/Code/payloadTransformerFailed``
    ///   and the thrown error as the cause.
    func outgoing(_ payload: EventPayload) throws -> [EventPayload]
}

extension PayloadTransformer {
    /// Returns the payload itself.
    public func outgoing(_ payload: EventPayload) throws -> [EventPayload] { [payload] }
}

/// A type that reads the events of a channel, one after the other: see ``PayloadTransformer``. A reader may keep data
/// between events, but must limit this data.
public protocol PayloadReader {
    /// Returns the payloads that the app gets for an event: the payload itself, another payload, several payloads, or
    /// an empty array while a message is incomplete. The client calls this method on its event loop, so the method must
    /// not block.
    ///
    /// - Throws: Any error. The client reports an error with the code
    ///   ``PusherClientError/Code/payloadTransformerFailed`` and the thrown error as the cause, and the app does not
    ///   get the event.
    mutating func incoming(_ payload: EventPayload) throws -> [EventPayload]
}

/// The content of an event: see ``PayloadTransformer``.
public struct EventPayload: Hashable, Sendable {
    /// The event's name.
    public var eventName: String
    /// The data: text, usually JSON; nil if the message has no data.
    public var data: String?
    /// The name of the event's channel.
    public let channelName: String
    /// The user who sent the event, for client events on presence channels; otherwise nil.
    public let userId: String?

    /// Creates a payload, for tests of a transformer.
    public init(eventName: String, data: String?, channelName: String, userId: String? = nil) {
        self.eventName = eventName
        self.data = data
        self.channelName = channelName
        self.userId = userId
    }

    /// Returns whether both payloads have the same bytes. Equal strings may have different bytes.
    func hasBytes(of other: EventPayload) -> Bool {
        Self.haveSameBytes(eventName, other.eventName) && Self.haveSameBytes(data, other.data)
    }

    static func haveSameBytes(_ first: String?, _ second: String?) -> Bool {
        (first == nil) == (second == nil) && (first ?? "").utf8.elementsEqual((second ?? "").utf8)
    }
}

extension PusherClientError {
    /// Makes the error for a failure in the app's transformer. Neither the message nor ``description`` contains the
    /// description of the app's error, which may contain secrets.
    static func transformerThrew(_ error: any Error, _ what: String, _ channelName: String) -> Self {
        PusherClientError(
            .payloadTransformerFailed,
            """
            \(what): the payload transformer threw an error of the type '\(type(of: error))'. Only the error's cause \
            contains its text, which may be secret.
            """,
            channelName: channelName,
            cause: error
        )
    }
}
