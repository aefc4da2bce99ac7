extension PusherClientOptions {
    /// What may grow, and how far. Each has to be positive.
    ///
    /// What is beyond a limit is refused or given up as the limit says, and told by an error, whose code each limit
    /// names: by ``Pusher/errors``, or thrown by the call that it refuses. Nothing grows without an end, and nothing is
    /// lost silently. Waiting calls, sequences and observations have no limit: they live as long as the code that waits
    /// for them, or holds them.
    public struct Limits: Hashable, Sendable {
        /// The largest message, in bytes. A larger one is refused with close code 1009, and the client reconnects.
        /// Default: 16 MiB. At most a GiB.
        public var messageSize: Int = 16 * 1_024 * 1_024
        /// The elements that a sequence keeps for a slow consumer. Default: 4,096.
        ///
        /// If more events come, the client stops reading from the socket until the consumer has taken half of them. A
        /// consumer that takes nothing for 90 ms is not waited for: then the newest elements are kept. The client never
        /// stops reading for longer than 5 s, or than half of ``PusherTimeouts/pong``. Dropped elements are counted in
        /// ``EventSequence/droppedCount``, and the first one is reported (``PusherClientError/Code/eventsDropped``).
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
        /// More bytes count as more elements do: see ``sequenceBuffer``. It also limits the encrypted events of a channel
        /// that wait for its key, and its client events that wait to be sent.
        public var listenerBufferSize: Int = 8 * 1_024 * 1_024
        /// The bytes that all sequences and the callback queue keep together, to within 64 KiB for each. Default: 32 MiB.
        public var totalBufferSize: Int = 32 * 1_024 * 1_024
        /// How many requests for authorizations of channels are made at once; the others wait, and their time does not
        /// run. Default: 16; a ``AuthMethod/batchAuthorizer(maximumBatchSize:_:)`` says for itself how many channels it takes in one. That of the user
        /// never waits, and is one more.
        public var authorizationsAtOnce: Int = 16
        /// How often an authorization is asked for before it has failed, where asking again can help. Default: 3.
        public var authorizationTries: Int = 3
        /// The largest answer to an authorization request, in bytes. With a larger one the authorization fails
        /// (``AuthorizationError/Kind-swift.struct/invalidResponse``). Default: 1 MiB.
        public var authorizationResponseSize: Int = 1_024 * 1_024
        /// The client events of a channel that may wait for its subscription, or for the server's limit. Another one is
        /// refused with ``PusherClientError/Code/clientEventQueueFull``: thrown by
        /// ``PusherChannel/send(_:data:encoder:)``, and reported where it was triggered. Default: 100.
        public var queuedClientEvents: Int = 100
        /// The most client events that go out in a second, over all channels; those beyond wait. Nil for no bound.
        /// Default: 10, which is what the hosted service allows a connection.
        public var clientEventsPerSecond: Int? = 10
        /// The longest data of a client event, in bytes. One that is longer is refused likewise, with
        /// ``PusherClientError/Code/clientEventTooBig``. Default: 10,240, which is what the hosted service allows.
        public var clientEventSize: Int = 10_240
        /// The events of an encrypted channel that may wait for its key. When more come, the oldest fails with
        /// ``PusherClientError/Code/decryptionFailed``. Default: 1,000.
        public var heldEncryptedEvents: Int = 1_000
        /// The channels that there may be at once, subscribed or not. Another one is refused with
        /// ``PusherClientError/Code/tooManyChannels``. Default: 100,000.
        public var channels: Int = 100_000
        /// The callbacks that may be bound to each channel, to the client, to its user and to the user's watchlist.
        /// Another one is not bound, and reported with ``PusherClientError/Code/tooManyBindings``: whoever comes here
        /// binds again and again, and never unbinds. Default: 10,000.
        public var bindings: Int = 10_000
        /// The members of a presence channel who are kept, and the watched users who are; all of them together may
        /// also take no more bytes than ``messageSize``, for the server has to send the list in one message. Those
        /// beyond are left out as if they were not there, but for this client's own member, until there is room:
        /// nobody is told that they come or go. It is reported once for each subscription, with
        /// ``PusherClientError/Code/tooManyMembers``. Default: 100,000.
        public var members: Int = 100_000
        /// The bytes that may wait for a server which does not read what it is sent, or not as fast. What is sent at
        /// once, as all subscriptions of a new connection are, may be more; but where more than this waits, and has
        /// grown by more than this since, the connection is given up with
        /// ``PusherClientError/Code/sendBufferFull``, and made anew. Default: 16 MiB.
        public var sendBufferSize: Int = 16 * 1_024 * 1_024

        /// Creates the defaults.
        public init() {}
    }
}
