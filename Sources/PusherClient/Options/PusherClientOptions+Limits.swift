extension PusherClientOptions {
    /// The limits of everything that can grow. Each has to be positive.
    ///
    /// When a limit is reached, the client refuses or drops what exceeds it, and reports an error with the code that
    /// the limit names. ``Pusher/errors`` has it, or the call that is refused throws it. So nothing grows without a
    /// limit, and nothing is lost silently. Waiting calls, sequences and observations have no limit: they live as long
    /// as the code that holds them.
    public struct Limits: Hashable, Sendable {
        /// The largest message, in bytes. The client rejects a larger message with close code 1009, and reconnects.
        /// Default: 16 MiB. At most a GiB.
        public var messageSize: Int = 16 * 1_024 * 1_024
        /// The elements that a sequence keeps for a slow consumer. Default: 4,096.
        ///
        /// If more events come, the client stops reading from the socket until the consumer has taken half of them. The
        /// client does not wait for a consumer that takes nothing for 90 ms. It then keeps the newest elements. The
        /// client never stops reading for longer than 5 s, or than half of ``PusherTimeouts/pong`` if that is less.
        /// Dropped elements are counted in ``EventSequence/droppedCount``, and the first one is reported
        /// (``PusherClientError/Code/eventsDropped``).
        public var sequenceBuffer: Int = 4_096
        /// The callbacks that wait for their queue. Default: 4,096.
        ///
        /// If more events come, the client waits for the queue as it does for a sequence: see ``sequenceBuffer``. The client
        /// reports when it begins to drop callbacks (``PusherClientError/Code/eventsDropped``), and how many it has dropped
        /// when the queue has caught up. State changes and outcomes of subscriptions have limits of their own, so that
        /// events cannot displace them. The last state is always delivered.
        public var pendingCallbacks: Int = 4_096
        /// The bytes that one sequence or the callback queue keeps. Default: 8 MiB.
        ///
        /// Reaching this limit has the same effect as reaching ``sequenceBuffer``. It also limits the encrypted events
        /// of a channel that wait for its key, and its client events that wait to be sent.
        public var listenerBufferSize: Int = 8 * 1_024 * 1_024
        /// The bytes that all sequences and the callback queue keep together, accurate to 64 KiB for each. Default: 32
        /// MiB.
        public var totalBufferSize: Int = 32 * 1_024 * 1_024
        /// How many requests for authorizations of channels are made at once; the others wait, and their time does not
        /// run. Default: 16; a ``AuthMethod/batchAuthorizer(maximumBatchSize:_:)`` says for itself how many channels it takes in one. That of the user
        /// never waits, and is one more.
        public var authorizationsAtOnce: Int = 16
        /// How often the client tries an authorization before it fails, if another try can help. Default: 3.
        public var authorizationTries: Int = 3
        /// The largest answer to an authorization request, in bytes. A larger answer fails the authorization
        /// (``AuthorizationError/Kind-swift.struct/invalidResponse``). Default: 1 MiB.
        public var authorizationResponseSize: Int = 1_024 * 1_024
        /// The client events of a channel that may wait for its subscription, or for the server's limit. A further
        /// event is refused with ``PusherClientError/Code/clientEventQueueFull``:
        /// ``PusherChannel/send(_:data:encoder:)`` throws it, and triggered events report it. Default: 100.
        public var queuedClientEvents: Int = 100
        /// The most client events that are sent in a second, over all channels. Further events wait. Nil means no
        /// limit. Default: 10, the limit of the hosted service for a connection.
        public var clientEventsPerSecond: Int? = 10
        /// The longest data of a client event, in bytes. A longer event is refused likewise, with
        /// ``PusherClientError/Code/clientEventTooBig``. Default: 10,240, the limit of the hosted service.
        public var clientEventSize: Int = 10_240
        /// The events of an encrypted channel that may wait for its key. If more arrive, the oldest fails with
        /// ``PusherClientError/Code/decryptionFailed``. Default: 1,000.
        public var heldEncryptedEvents: Int = 1_000
        /// The most channels at once, subscribed or not. A further channel is refused with
        /// ``PusherClientError/Code/tooManyChannels``. Default: 100,000.
        public var channels: Int = 100_000
        /// The callbacks that may be bound to each channel, to the client, to its user and to the user's watchlist. A
        /// further callback is not bound, and reported with ``PusherClientError/Code/tooManyBindings``. Code that
        /// reaches this limit probably binds again and again without unbinding. Default: 10,000.
        public var bindings: Int = 10_000
        /// The most members of a presence channel, and the most watched users, that are kept. All of them together may
        /// also take no more bytes than ``messageSize``, because the server has to send the list in one message.
        /// Further members are ignored, except this client's own, until others leave: no callback reports that they
        /// join or leave. The client reports this once for each subscription, with
        /// ``PusherClientError/Code/tooManyMembers``. Default: 100,000.
        public var members: Int = 100_000
        /// The most bytes that may wait for a server that reads slowly or not at all. A burst, such as all
        /// subscriptions of a new connection, may exceed it. If more than this waits, and has grown by more than this
        /// since, the client drops the connection with ``PusherClientError/Code/sendBufferFull`` and reconnects.
        /// Default: 16 MiB.
        public var sendBufferSize: Int = 16 * 1_024 * 1_024

        /// Creates the defaults.
        public init() {}
    }
}
