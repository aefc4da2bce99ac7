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
        public var messageSize: Int
        /// The elements that a sequence keeps for a slow consumer. The newest are kept; what is dropped is counted in
        /// ``EventSequence/droppedCount``, and each spell of it reported (``PusherClientError/Code/eventsDropped``).
        /// Default: 65,536.
        public var sequenceBuffer: Int
        /// The callbacks that may wait for their queue. The newest are kept; that some are dropped is reported when it
        /// begins (``PusherClientError/Code/eventsDropped``), and how many were when the queue has caught up. Changes
        /// of the state are counted apart, and so are outcomes of subscriptions: no flood of others costs one of
        /// them. They are dropped only where so many of the same kind wait, and the last state is always told. Default:
        /// 65,536.
        public var pendingCallbacks: Int
        /// How many requests for authorizations of channels are made at once; the others wait, and their time does not
        /// run. Default: 16; a ``BatchAuthorizer`` says for itself how many channels it takes in one. That of the user
        /// never waits, and is one more.
        public var authorizationsAtOnce: Int
        /// How often an authorization is asked for before it has failed, where asking again can help. Default: 3.
        public var authorizationTries: Int
        /// The largest answer to an authorization request, in bytes. With a larger one the authorization fails
        /// (``AuthorizationError/Kind-swift.struct/invalidResponse``). Default: 1 MiB.
        public var authorizationResponseSize: Int
        /// The client events of a channel that may wait for its subscription, or for the server's limit. Another one is
        /// refused with ``PusherClientError/Code/clientEventQueueFull``: thrown by
        /// ``PusherChannel/send(_:data:encoder:)``, and reported where it was triggered. Default: 100.
        public var queuedClientEvents: Int
        /// The most client events that go out in a second, over all channels; those beyond wait. Nil for no bound.
        /// Default: 10, which is what the hosted service allows a connection.
        public var clientEventsPerSecond: Int?
        /// The longest data of a client event, in bytes. One that is longer is refused likewise, with
        /// ``PusherClientError/Code/clientEventTooBig``. Default: 10,240, which is what the hosted service allows.
        public var clientEventSize: Int
        /// The events of an encrypted channel that may wait for its key. When more come, the oldest fails with
        /// ``PusherClientError/Code/decryptionFailed``. Default: 1,000.
        public var heldEncryptedEvents: Int
        /// The channels that there may be at once, subscribed or not. Another one is refused with
        /// ``PusherClientError/Code/tooManyChannels``. Default: 100,000.
        public var channels: Int
        /// The callbacks that may be bound to each channel, to the client, to its user and to the user's watchlist.
        /// Another one is not bound, and reported with ``PusherClientError/Code/tooManyBindings``: whoever comes here
        /// binds again and again, and never unbinds. Default: 10,000.
        public var bindings: Int
        /// The members of a presence channel who are kept, and the watched users who are; all of them together may
        /// also take no more bytes than ``messageSize``, for the server has to send the list in one message. Those
        /// beyond are left out as if they were not there, but for this client's own member, until there is room:
        /// nobody is told that they come or go. It is reported once for each subscription, with
        /// ``PusherClientError/Code/tooManyMembers``. Default: 100,000.
        public var members: Int
        /// The bytes that may wait for a server which does not read what it is sent, or not as fast. What is sent at
        /// once, as all subscriptions of a new connection are, may be more; but where more than this waits, and has
        /// grown by more than this since, the connection is given up with
        /// ``PusherClientError/Code/sendBufferFull``, and made anew. Default: 16 MiB.
        public var sendBufferSize: Int

        /// Makes limits.
        public init(
            messageSize: Int = 16 * 1_024 * 1_024,
            sequenceBuffer: Int = 65_536,
            pendingCallbacks: Int = 65_536,
            authorizationsAtOnce: Int = 16,
            authorizationTries: Int = 3,
            authorizationResponseSize: Int = 1_024 * 1_024,
            queuedClientEvents: Int = 100,
            clientEventsPerSecond: Int? = 10,
            clientEventSize: Int = 10_240,
            heldEncryptedEvents: Int = 1_000,
            channels: Int = 100_000,
            bindings: Int = 10_000,
            members: Int = 100_000,
            sendBufferSize: Int = 16 * 1_024 * 1_024
        ) {
            self.messageSize = messageSize
            self.sequenceBuffer = sequenceBuffer
            self.pendingCallbacks = pendingCallbacks
            self.authorizationsAtOnce = authorizationsAtOnce
            self.authorizationTries = authorizationTries
            self.authorizationResponseSize = authorizationResponseSize
            self.queuedClientEvents = queuedClientEvents
            self.clientEventsPerSecond = clientEventsPerSecond
            self.clientEventSize = clientEventSize
            self.heldEncryptedEvents = heldEncryptedEvents
            self.channels = channels
            self.bindings = bindings
            self.members = members
            self.sendBufferSize = sendBufferSize
        }
    }
}
