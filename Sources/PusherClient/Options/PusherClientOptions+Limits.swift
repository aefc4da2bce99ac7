extension PusherClientOptions {
    /// What may grow, and how far.
    public struct Limits: Hashable, Sendable {
        /// The largest message, in bytes. A larger one is refused with close code 1009, and the client reconnects.
        /// Default: 16 MiB.
        public var messageSize: Int
        /// The elements that a sequence keeps for a slow consumer. The newest are kept; what is dropped is counted in
        /// ``EventSequence/droppedCount`` and reported once a spell. Default: 65,536.
        public var sequenceBuffer: Int
        /// The callbacks that may wait for their queue. The newest are kept; dropped ones are counted and reported.
        /// Changes of state and outcomes of subscriptions are never dropped.
        /// Default: 65,536.
        public var pendingCallbacks: Int
        /// How many authorizations are asked for at once. Default: 16; a ``BatchAuthorizer`` says for itself how many
        /// it takes in one request.
        public var authorizationsAtOnce: Int
        /// How often an authorization is asked for before it has failed, where asking again can help. Default: 3.
        public var authorizationTries: Int
        /// The largest answer to an authorization request, in bytes. Default: 1 MiB.
        public var authorizationResponseSize: Int
        /// The client events of a channel that may wait for its subscription, or for the server's limit. Default: 100.
        public var queuedClientEvents: Int
        /// The most client events that go out in a second, over all channels; those beyond wait. Nil for no bound.
        /// Default: 10, which is what the hosted service allows a connection.
        public var clientEventsPerSecond: Int?
        /// The longest data of a client event, in bytes. Default: 10,240, which is what the hosted service allows.
        public var clientEventSize: Int
        /// The events of an encrypted channel that may wait for its key. When more come, the oldest fails. Default:
        /// 1,000.
        public var heldEncryptedEvents: Int

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
            heldEncryptedEvents: Int = 1_000
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
        }
    }
}
