/// The counts of a client since it was made: see ``Pusher/statistics``.
///
/// A value: taken once, it does not change. Counts only grow, but for those that are said to be what is now. What went
/// into a count is found again in others, so that nothing gets lost between them; each type says how.
public struct PusherStatistics: Hashable, Sendable {
    /// Attempts to connect, and the connections that they led to.
    public var connections = Connections()
    /// Signs of life that were asked for.
    public var pings = Pings()
    /// All messages on the wire.
    public var messages = Messages()
    /// Events for the app.
    public var events = Events()
    /// Subscriptions to channels.
    public var subscriptions = Subscriptions()
    /// Authorizations of channels and of the user.
    public var authorizations = Authorizations()
    /// Sign-ins of the user.
    public var signIns = SignIns()
    /// Events that the app sent.
    public var clientEvents = ClientEvents()

    package init() {}
}

extension PusherStatistics {
    /// Attempts to connect, and the connections that they led to.
    ///
    /// Each of the ``attempts`` is one of the ``established``, the ``failedAttempts`` or the ``abandonedAttempts``, or
    /// still under way. Each connection that was established is one of the ``lost`` or the ``closed``, or is open.
    public struct Connections: Hashable, Sendable {
        /// Sockets that were opened, or tried to be.
        public var attempts = 0
        /// Attempts that ended in a connection: the socket was open, and the server had greeted.
        public var established = 0
        /// The same, by the transport that carries the connection.
        public var establishedOver: [PusherTransport: Int] = [:]
        /// What carries the connection, or carried the last one; nil if there was none.
        public var transport: PusherTransport?
        /// Why other transports that ``PusherClientOptions/transports`` has do not carry it, if they failed, cannot be
        /// used, or are not tried because they failed before.
        public var unusedTransports: [PusherTransport: PusherClientError] = [:]
        /// Attempts that failed, by the reason.
        public var failedAttempts: [LossReason: Int] = [:]
        /// Attempts that ended because the app disconnected, or wanted another one at once.
        public var abandonedAttempts = 0
        /// Connections that ended otherwise than by ``Pusher/disconnect()``, by the reason.
        public var lost: [LossReason: Int] = [:]
        /// Connections that ``Pusher/disconnect()``, or the release of the client, ended.
        public var closed = 0
        /// How often the client stopped for good because trying again would not have helped:
        /// ``ConnectionStatus/refused(_:)``.
        public var refused = 0
        /// How often the client stopped for good because it may not try again, or no more:
        /// ``ConnectionStatus/disconnected(reason:)`` with a reason.
        public var givenUp = 0
        /// The times from the loss of a connection until the next one stood: one for each time that the client
        /// reconnected by itself. What the app ended (``LossReason/replaced``) is not recovered from.
        public var recovery = Timing()
        /// How long there was a connection, in all; with the one that stands.
        public var timeConnected = Duration.zero

        package init() {}
    }

    /// Signs of life that were asked for.
    public struct Pings: Hashable, Sendable {
        /// Pings that the client sent.
        public var sent = 0
        /// Pongs that came for them.
        public var answered = 0
        /// The times from a ping to its pong. A ping that is sent while another one is unanswered is left out: a pong
        /// does not say which it answers.
        public var roundTrip = Timing()
        /// How long the client may send nothing before it pings, because the server, or something on the way to it, cut
        /// connections on which the client had been silent. Nil if the client has seen no such limit, or tries to do
        /// without these pings: it then pings after the activity timeout only. It is what holds now, and is nil again after
        /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` to another host or port.
        public var keepAliveInterval: Duration?
        /// Pings of the server, each of which was answered. Those of WebSocket itself do not count.
        public var received = 0

        package init() {}
    }

    /// All messages on the wire: events, and messages of the protocol.
    public struct Messages: Hashable, Sendable {
        /// Messages that came.
        public var received = 0
        /// Their bytes, as text: without the frames of WebSocket, and without TLS.
        public var bytesReceived = 0
        /// Messages that were handed to a socket.
        public var sent = 0
        /// Their bytes, as text.
        public var bytesSent = 0
        /// Messages of the app's own, by ``PusherConnection/sendEvent(event:data:channel:)``, that could not be
        /// sent. Each is reported by ``Pusher/errors``.
        public var unsent = 0
        /// Messages that do not belong to the protocol, or lack a required member. Each is reported by
        /// ``Pusher/errors``.
        public var malformed = 0
        /// Messages of the protocol that had no effect: unknown ones, those about a channel, a member or a user that the
        /// client is done with, those on a socket that was given up, and a pong that answers no ping.
        public var ignored = 0

        package init() {}
    }

    /// Subscriptions to channels.
    public struct Subscriptions: Hashable, Sendable {
        /// The channels that are subscribed now.
        public var current = 0
        /// Subscriptions that the server confirmed, those after a loss among them.
        public var succeeded = 0
        /// Those among them of channels that had been subscribed before: after a loss, or because the app wanted
        /// another connection or called ``PusherChannel/resubscribe()``.
        public var resubscribed = 0
        /// Subscriptions that were sent again because the server's rate limit may have dropped them.
        public var repeated = 0
        /// Subscriptions that failed, whatever the reason.
        public var failed = 0

        package init() {}
    }

    /// Authorizations of channels and of the user.
    ///
    /// Each of those that were ``begun`` is one of the ``succeeded``, the ``failed`` or the ``cancelled``, or still
    /// under way.
    public struct Authorizations: Hashable, Sendable {
        /// Authorizations that were wanted.
        public var begun = 0
        /// How often an authorizer was asked for them. More than ``begun`` if it was asked again.
        public var tries = 0
        /// Authorizations that the authorizer gave. The server can still refuse them.
        public var succeeded = 0
        /// Authorizations that failed.
        public var failed = 0
        /// Authorizations that are no longer needed: the connection was lost, or the channel unsubscribed.
        public var cancelled = 0
        /// The times until authorizations succeeded, including waits and further tries.
        public var latency = Timing()

        package init() {}
    }

    /// Sign-ins of the user.
    public struct SignIns: Hashable, Sendable {
        /// Sign-ins that the server confirmed, those after a loss among them.
        public var succeeded = 0
        /// Sign-ins that failed, whatever the reason.
        public var failed = 0

        package init() {}
    }

    /// Events that the app sent.
    ///
    /// Each of those that were ``accepted`` is one of the ``sent`` or the ``dropped``, is ``waiting``, or on its way to
    /// the socket. If a ``PayloadTransformer`` makes several of one, each of them counts.
    public struct ClientEvents: Hashable, Sendable {
        /// Events that were taken, to go out at once or later.
        public var accepted = 0
        /// Events that were written to a socket. The server does not confirm them.
        public var sent = 0
        /// The events that wait now: for their channel to be subscribed, or for the server's limit.
        public var waiting = 0
        /// Events that were taken and will not be sent: the channel was unsubscribed, the connection was lost or the
        /// channel subscribed anew (by ``PusherChannel/resubscribe()``, or as the server refused what it had confirmed)
        /// while a call waited for the event to be written, or that call was cancelled. Events whose HTTP request was not
        /// answered, which may have arrived. And events of
        /// ``PusherChannel/sendLatest(_:data:encoder:)`` whose place a later one took, or that could not go out at
        /// once.
        public var dropped = 0
        /// Events that were not taken, each with an error that says why.
        public var refused = 0
        /// Times that the server said it rejected an event (4301).
        public var rejectedByServer = 0

        package init() {}
    }
}

extension PusherStatistics {
    /// Events for the app.
    ///
    /// Each of the ``received`` events is one of the ``delivered`` or the ``undecryptable``, is ``held``, or was dropped
    /// as ``DropReason/notSubscribed`` or ``DropReason/notConnected``. What is dropped for another reason was delivered
    /// before, and then missed by a consumer.
    public struct Events: Hashable, Sendable {
        /// Events that came from the server.
        public var received = 0
        /// Events that were handed over to the handlers and sequences that there were for them, by way of the
        /// ``PayloadTransformer``, if there is one.
        public var delivered = 0
        /// Delivered events for which there was neither a handler nor a sequence when they came. Nothing is wrong
        /// if that is what is wanted; else a name may be.
        public var unhandled = 0
        /// Events of encrypted channels that could not be read. Each is reported.
        public var undecryptable = 0
        /// The events of encrypted channels that wait for a key now.
        public var held = 0
        /// Dropped events by reason. Those of sequences and callbacks include other elements.
        public var dropped: [DropReason: Int] = [:]

        package init() {}
    }

    /// Why an event did not reach its listeners. New reasons may come with new versions: keep a `default` when
    /// you switch over them.
    public struct DropReason: RawRepresentable, Hashable, Sendable {
        /// The reason's name, as it is printed.
        public let rawValue: String

        /// Makes a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Nobody wants the channel: it was unsubscribed while the event was on its way or waited for a key; or it is
        /// that of a user who is not signed in.
        public static let notSubscribed = Self(rawValue: "notSubscribed")
        /// The event came before the server's greeting, after ``Pusher/disconnect()``, or on a connection that was
        /// given up.
        public static let notConnected = Self(rawValue: "notConnected")
        /// A sequence was full: see ``PusherClientOptions/Limits-swift.struct/sequenceBuffer``. Counted for each
        /// sequence, whatever its elements are: beside events statuses, errors, members and all others. Reported.
        public static let sequenceOverflow = Self(rawValue: "sequenceOverflow")
        /// A callback did not run because too many waited for their queue: see
        /// ``PusherClientOptions/Limits-swift.struct/pendingCallbacks``. Reported.
        public static let callbackOverflow = Self(rawValue: "callbackOverflow")
        /// The data was not what a typed sequence or handler expects. Counted for each of them. Reported.
        public static let undecodable = Self(rawValue: "undecodable")
        /// The ``PayloadTransformer`` threw. Reported.
        public static let transformerFailed = Self(rawValue: "transformerFailed")
    }
}

extension PusherStatistics.DropReason: CustomStringConvertible {
    /// The reason's name.
    public var description: String { rawValue }
}

extension PusherStatistics {
    /// How long something took, each time that it happened.
    public struct Timing: Hashable, Sendable {
        /// How often it happened.
        public private(set) var count = 0
        /// All times together.
        public private(set) var total = Duration.zero
        /// The longest time; zero if there was none.
        public private(set) var longest = Duration.zero
        /// The time of the last one; nil if there was none.
        public private(set) var last: Duration?
        /// The times that were not taken yet; nil if nobody takes them.
        private var samples: [Duration]?

        package init() {}

        /// The mean of the times; nil if there was none.
        public var mean: Duration? { count == 0 ? nil : total / count }
    }
}

extension PusherStatistics.Timing {
    /// Adds one time.
    mutating func add(_ time: Duration) {
        count += 1
        total += time
        longest = max(longest, time)
        last = time
        // They are taken after each read. If they are not, they must not pile up.
        if let samples, samples.count < 10_000 { self.samples?.append(time) }
    }

    /// From now on each time is kept until it is taken. Earlier ones are not available.
    mutating func keepSamples() { samples = samples ?? [] }

    /// The times since the last call.
    mutating func takeSamples() -> [Duration] {
        guard let taken = samples, !taken.isEmpty else { return [] }
        samples = []
        return taken
    }

    /// The same without the single times.
    var summary: Self {
        var summary = self
        summary.samples = nil
        return summary
    }
}
