extension PusherClientOptions {
    /// The limits for everything whose size or number can grow. Each limit must be positive.
    ///
    /// When a limit is reached, the client makes the excess wait, rejects it, or drops it. If the client rejects or
    /// drops something, ``Pusher/errors`` reports an error, or the rejected call throws the error. The client counts
    /// dropped events of ``PusherChannel/sendLatest(_:data:encoder:)``, but does not report them. The numbers of
    /// waiting calls and of sequences have no limit, because they live only as long as the code that holds them.
    public struct Limits: Hashable, Sendable {
        /// The maximum size of a message, in bytes. After a larger message, the client drops the connection, and
        /// reconnects. Over a WebSocket, it sends the close code 1009. Default: 16 MiB. Maximum: 1 GiB.
        public var messageSize: Int = 16 * 1_024 * 1_024
        /// The maximum number of elements that a sequence keeps for a slow consumer. Default: 4,096.
        ///
        /// If more events arrive, the client stops reading from the socket until the consumer has taken half of them.
        /// If the consumer takes nothing for 90 ms, the client continues to read, and the sequence keeps the newest
        /// elements. The client never stops reading for longer than 5 s, or half of ``PusherTimeouts/pong`` if this is
        /// shorter. ``EventSequence/droppedCount`` counts dropped elements, and the client reports the first drop
        /// (``PusherClientError/Code/eventsDropped``).
        public var sequenceBuffer: Int = 4_096
        /// The maximum number of callbacks that wait for their queue. Default: 4,096.
        ///
        /// If more events arrive, the client waits for the queue as it does for a sequence: see ``sequenceBuffer``.
        /// When the client begins to drop callbacks, it reports ``PusherClientError/Code/eventsDropped``. When the
        /// queue has caught up, the client reports the number of dropped callbacks. State changes and outcomes of
        /// subscriptions have separate limits, so that events cannot displace them. The last state is always delivered.
        public var pendingCallbacks: Int = 4_096
        /// The maximum number of bytes that one sequence or the callback queue keeps. Default: 8 MiB.
        ///
        /// Reaching this limit has the same effect as reaching ``sequenceBuffer``. The limit also applies to the
        /// encrypted events of a channel that wait for the key: see ``heldEncryptedEvents``.
        public var listenerBufferSize: Int = 8 * 1_024 * 1_024
        /// The maximum number of bytes that all sequences and the callback queue keep together. The count is accurate
        /// to 64 KiB for each of them. Default: 32 MiB.
        public var totalBufferSize: Int = 32 * 1_024 * 1_024
        /// The maximum number of authorization requests for channels at the same time. Further requests wait, and their
        /// timeouts do not run while they wait. One request can be for several channels, as with
        /// ``AuthMethod/batchAuthorizer(maximumBatchSize:_:)``. The authorization request for a sign-in does not count,
        /// and never waits. Default: 16.
        public var authorizationsAtOnce: Int = 16
        /// The maximum number of tries for an authorization on one connection, including the first. Nil means no limit:
        /// the client tries again after each failure that may pass, as ``PusherClientOptions/requestRetryPolicy`` decides.
        /// Default: nil.
        public var authorizationTries: Int?
        /// The maximum size of an answer to an authorization request, in bytes. A larger answer fails the authorization
        /// (``AuthorizationError/Code-swift.struct/invalidResponse``). Default: 1 MiB.
        public var authorizationResponseSize: Int = 1_024 * 1_024
        /// The maximum number of a channel's client events that wait for the subscription, or that have to wait because
        /// of ``clientEventsPerSecond``. The client rejects a further event with
        /// ``PusherClientError/Code/clientEventQueueFull``. ``PusherChannel/send(_:data:encoder:)`` throws this error,
        /// and for a triggered event the client reports it. Default: 100.
        public var queuedClientEvents: Int = 100
        /// The maximum number of client events that the client sends in a second, on all channels together. Further
        /// events wait. Nil means no limit. Default: 10, the limit of the hosted service for a connection.
        public var clientEventsPerSecond: Int? = 10
        /// The maximum size of a client event's data, in bytes. The client rejects larger events with
        /// ``PusherClientError/Code/clientEventTooBig``. Default: 10,240, the limit of the hosted service.
        public var clientEventSize: Int = 10_240
        /// The maximum number of an encrypted channel's events that wait for the key. If more events arrive, the oldest
        /// event fails with ``PusherClientError/Code/decryptionFailed``. Default: 1,000.
        public var heldEncryptedEvents: Int = 1_000
        /// The maximum number of channels at once, whether or not they are subscribed. The client rejects a further
        /// channel with ``PusherClientError/Code/tooManyChannels``. Default: 100,000.
        public var channels: Int = 100_000
        /// The maximum number of callbacks, including observations, for each channel, for the client, for its user, and
        /// for the user's watchlist. The client does not bind a further callback, and reports
        /// ``PusherClientError/Code/tooManyBindings``. Code that reaches this limit probably binds again and again
        /// without unbinding. Default: 10,000.
        public var bindings: Int = 10_000
        /// The maximum number of members of a presence channel, and of watched users, that the client keeps. Each list
        /// may also take at most ``messageSize`` bytes, because the server must send the list in one message. The
        /// client ignores further members, except its own member, until others leave. No callback reports that an
        /// ignored member joins or leaves. The client reports the excess once for each subscription and for each
        /// sign-in, with ``PusherClientError/Code/tooManyMembers``. Default: 100,000.
        public var members: Int = 100_000
        /// The maximum number of bytes that wait for a server that reads slowly or not at all. A burst, such as all
        /// subscriptions of a new connection, may exceed the limit. If more bytes than the limit already wait, and the
        /// client adds more bytes than the limit, the client drops the connection with
        /// ``PusherClientError/Code/sendBufferFull`` and reconnects. Default: 16 MiB.
        public var sendBufferSize: Int = 16 * 1_024 * 1_024

        /// Creates the default limits.
        public init() {}
    }
}
