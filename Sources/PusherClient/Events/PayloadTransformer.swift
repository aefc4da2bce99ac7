/// Changes payloads between the app and the server, in both directions and for all channels. Use it, for example, to
/// compress or sign them, or to split those that are too long for the server.
///
/// Callbacks and sequences get its output for received events, in order, and for encrypted ones after decryption. The
/// server gets its output for client events. Events of the protocol itself, whose names begin with `pusher:`, do not
/// pass through it. See <doc:Production> for an example.
public protocol PayloadTransformer: Sendable {
    /// Makes a reader for the events of one channel during one subscription. Each subscription gets its own, so that
    /// parts from before a loss are never joined with later ones. Called on the client's event loop.
    ///
    /// - Parameter channelName: The channel, or the channel of the user's own events, which begins with
    ///   `#server-to-user-`.
    func makeReader(channelName: String) -> any PayloadReader

    /// Returns the payloads to send for a client event, in order: the payload itself, another one, several, or none.
    /// Called in the task or on the thread that sends, by several at once.
    ///
    /// The data is what a receiver would get as ``PusherEvent/data``: a string as it is, anything else as JSON text.
    /// The receiver's ``PayloadReader/incoming(_:)`` gets the returned text, which may be any text. JSON objects and
    /// lists are sent as such, unless ``PusherClientOptions/clientEventEncoding`` is
    /// ``PusherClientOptions/ClientEventEncoding/string``. Each event name must be valid for a client event. Several
    /// payloads begin to wait together, or not at all. Each counts toward
    /// ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` and
    /// ``PusherClientOptions/Limits-swift.struct/clientEventsPerSecond``. The connection may be lost between two of
    /// them, or the task that sends may end, so receivers must handle a part without the others.
    ///
    /// The default is the payload itself.
    ///
    /// - Throws: Any error. The sender gets an error with the code ``PusherClientError/Code/payloadTransformerFailed``
    ///   and this one as the cause.
    func outgoing(_ payload: EventPayload) throws -> [EventPayload]
}

extension PayloadTransformer {
    /// The payload itself.
    public func outgoing(_ payload: EventPayload) throws -> [EventPayload] { [payload] }
}

/// Reads the events of a channel, one after the other: see ``PayloadTransformer``. It may keep data between events,
/// within its own limits.
public protocol PayloadReader {
    /// Returns the payloads that the app gets for an event: the payload itself, another one, several, or none while a
    /// message is incomplete. Called on the client's event loop: it must not block.
    ///
    /// - Throws: Any error. The client reports an error with the code
    ///   ``PusherClientError/Code/payloadTransformerFailed`` and this one as the cause, and the app does not get the
    ///   event.
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

    /// Whether nothing was changed. Equal texts may have different bytes.
    func hasBytes(of other: EventPayload) -> Bool {
        Self.haveSameBytes(eventName, other.eventName) && Self.haveSameBytes(data, other.data)
    }

    static func haveSameBytes(_ first: String?, _ second: String?) -> Bool {
        (first == nil) == (second == nil) && (first ?? "").utf8.elementsEqual((second ?? "").utf8)
    }
}

extension PusherClientError {
    /// Makes the error for a failure in the app's transformer. The text of that error is not repeated, here or in
    /// ``description``, because it may contain secrets.
    static func transformerThrew(_ error: any Error, _ what: String, _ channelName: String) -> Self {
        PusherClientError(
            .payloadTransformerFailed,
            "\(what): the payload transformer threw an error of the type '\(type(of: error))'. The cause has it.",
            channelName: channelName,
            cause: error
        )
    }
}
