/// The counts of a client since it was created: see ``Pusher/statistics``.
///
/// It is a value, and does not change after it was taken. Counts only grow, except those that describe the current
/// state. The counts add up, so that nothing is lost between them. Each type says how.
public struct PusherStatistics: Hashable, Sendable {
    /// Attempts to connect, and the resulting connections.
    public var connections = Connections()
    /// Pings and their answers.
    public var pings = Pings()
    /// All messages sent and received.
    public var messages = Messages()
    /// Events for the app.
    public var events = Events()
    /// Subscriptions to channels.
    public var subscriptions = Subscriptions()
    /// Authorizations of channels and of the user.
    public var authorizations = Authorizations()
    /// Sign-ins of the user.
    public var signIns = SignIns()
    /// Client events that the app sent.
    public var clientEvents = ClientEvents()

    package init() {}
}

extension PusherStatistics {
    /// Attempts to connect, and the resulting connections.
    ///
    /// Each of the ``attempts`` is ``established``, failed (``failedAttempts``) or abandoned (``abandonedAttempts``),
    /// or still under way. Each established connection is ``lost``, ``closed`` or open.
    public struct Connections: Hashable, Sendable {
        /// Attempts to open a socket.
        public var attempts = 0
        /// Attempts that led to a connection: the socket was open, and the server had greeted the client.
        public var established = 0
        /// The same, by the transport that carries the connection.
        public var establishedOver: [PusherTransport: Int] = [:]
        /// The transport of the current connection, or of the last one; nil if there was none.
        public var transport: PusherTransport?
        /// Why other transports that ``PusherClientOptions/transports`` has do not carry it, if they failed, cannot be
        /// used, or are not tried because they failed before.
        public var unusedTransports: [PusherTransport: PusherClientError] = [:]
        /// Attempts that failed, by reason.
        public var failedAttempts: [LossReason: Int] = [:]
        /// Attempts that ended because the app disconnected, or replaced them.
        public var abandonedAttempts = 0
        /// Connections that ended in another way than by ``Pusher/disconnect()``, by reason.
        public var lost: [LossReason: Int] = [:]
        /// Connections that ended because of ``Pusher/disconnect()``, or because the client was released.
        public var closed = 0
        /// How often the client stopped for good because another attempt would have failed too:
        /// ``ConnectionStatus/refused(_:)``.
        public var refused = 0
        /// How often the client stopped for good because of its options: ``ConnectionStatus/disconnected(reason:)``
        /// with a reason.
        public var givenUp = 0
        /// The times from the loss of a connection until the next connection, for each time that the client reconnected
        /// by itself. Connections that the app replaced (``LossReason/replaced``) do not count.
        public var recovery = Timing()
        /// The total time with a connection, including the current one.
        public var timeConnected = Duration.zero

        package init() {}
    }

    /// Pings and their answers.
    public struct Pings: Hashable, Sendable {
        /// Pings that the client sent.
        public var sent = 0
        /// Pongs that answered them.
        public var answered = 0
        /// The times from a ping to its pong. Pings that were sent while another one was unanswered are left out,
        /// because a pong does not say which ping it answers.
        public var roundTrip = Timing()
        /// How long the client may be silent before it pings, because the server or a proxy cut silent connections. Nil
        /// if the client has not met such a limit, or is trying without these pings. It then pings after the activity
        /// timeout only. It describes the current state, and becomes nil after
        /// ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` to another host or port.
        public var keepAliveInterval: Duration?
        /// Pings of the server. The client answered each of them. WebSocket pings do not count.
        public var received = 0

        package init() {}
    }

    /// All messages sent and received: events, and messages of the protocol.
    public struct Messages: Hashable, Sendable {
        /// Messages that came.
        public var received = 0
        /// Their bytes as text, without WebSocket frames and TLS.
        public var bytesReceived = 0
        /// Messages that were handed to a socket.
        public var sent = 0
        /// Their bytes, as text.
        public var bytesSent = 0
        /// Messages of the app's own, from ``PusherConnection/sendEvent(event:data:channel:)``, that could not be sent.
        /// Each is reported by ``Pusher/errors``.
        public var unsent = 0
        /// Messages that do not belong to the protocol, or lack a required member. Each is reported by
        /// ``Pusher/errors``.
        public var malformed = 0
        /// Messages of the protocol that had no effect: unknown ones, those about a channel, a member or a user that
        /// the client no longer tracks, those on a socket that was dropped, and pongs that answer no ping.
        public var ignored = 0

        package init() {}
    }

    /// Subscriptions to channels.
    public struct Subscriptions: Hashable, Sendable {
        /// The channels that are subscribed now.
        public var current = 0
        /// Subscriptions that the server confirmed, including those after a loss.
        public var succeeded = 0
        /// Resubscriptions: after a loss, or because the app replaced the connection or called
        /// ``PusherChannel/resubscribe()``.
        public var resubscribed = 0
        /// Subscriptions that were sent again because the server's rate limit may have dropped them.
        public var repeated = 0
        /// Subscriptions that failed, for any reason.
        public var failed = 0

        package init() {}
    }

    /// Authorizations of channels and of the user.
    ///
    /// Each authorization that was ``begun`` has ``succeeded``, ``failed`` or was ``cancelled``, or is still under way.
    public struct Authorizations: Hashable, Sendable {
        /// Authorizations that were requested.
        public var begun = 0
        /// How often an authorizer was called for them. It exceeds ``begun`` if there were retries.
        public var tries = 0
        /// Authorizations that the authorizer returned. The server can still refuse them.
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
        /// Sign-ins that the server confirmed, including those after a loss.
        public var succeeded = 0
        /// Sign-ins that failed, for any reason.
        public var failed = 0

        package init() {}
    }

    /// Client events that the app sent.
    ///
    /// Each ``accepted`` event was ``sent`` or ``dropped``, is ``waiting``, or is being written. If a
    /// ``PayloadTransformer`` makes several of one event, each of them counts.
    public struct ClientEvents: Hashable, Sendable {
        /// Events that were accepted, to be sent at once or later.
        public var accepted = 0
        /// Events that were written to a socket. The server does not confirm them.
        public var sent = 0
        /// Events that wait now: until their channel is subscribed, or until the server's limit allows them.
        public var waiting = 0
        /// Events that were taken and will not be sent: the channel was unsubscribed, the connection was lost or the
        /// channel subscribed anew (by ``PusherChannel/resubscribe()``, or as the server refused what it had confirmed)
        /// while a call waited for the event to be written, or that call was cancelled. Events whose HTTP request was not
        /// answered, which may have arrived. And events of
        /// ``PusherChannel/sendLatest(_:data:encoder:)`` whose place a later one took, or that could not go out at
        /// once.
        public var dropped = 0
        /// Events that were not accepted. Each has an error that says why.
        public var refused = 0
        /// How often the server reported that it rejected an event (4301).
        public var rejectedByServer = 0

        package init() {}
    }
}

extension PusherStatistics {
    /// Events for the app.
    ///
    /// Each of the ``received`` events was ``delivered`` or is ``undecryptable`` or ``held``, or was dropped as
    /// ``DropReason/notSubscribed`` or ``DropReason/notConnected``. Events that were dropped for another reason were
    /// delivered first, and then missed by a consumer.
    public struct Events: Hashable, Sendable {
        /// Events from the server.
        public var received = 0
        /// Events that were delivered to their handlers and sequences, through the ``PayloadTransformer`` if there is
        /// one.
        public var delivered = 0
        /// Delivered events that had neither a handler nor a sequence when they arrived. If you did not expect that,
        /// check the names of the events.
        public var unhandled = 0
        /// Events of encrypted channels that could not be read. Each is reported.
        public var undecryptable = 0
        /// Events of encrypted channels that wait for a key now.
        public var held = 0
        /// Dropped events by reason. For sequences and callbacks, other elements count too.
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

        /// The channel was unsubscribed while the event was on its way or waited for a key, or it belongs to a user who
        /// is not signed in.
        public static let notSubscribed = Self(rawValue: "notSubscribed")
        /// The event arrived before the server's greeting, after ``Pusher/disconnect()``, or on a dropped connection.
        public static let notConnected = Self(rawValue: "notConnected")
        /// A sequence was full: see ``PusherClientOptions/Limits-swift.struct/sequenceBuffer``. Counted for each
        /// sequence, including sequences of statuses, errors, members and other elements. Reported.
        public static let sequenceOverflow = Self(rawValue: "sequenceOverflow")
        /// A callback did not run because too many waited for their queue: see
        /// ``PusherClientOptions/Limits-swift.struct/pendingCallbacks``. Reported.
        public static let callbackOverflow = Self(rawValue: "callbackOverflow")
        /// The data did not fit the type of a sequence or handler. Counted for each of them. Reported.
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
    /// Statistics of repeated durations.
    public struct Timing: Hashable, Sendable {
        /// The number of durations.
        public private(set) var count = 0
        /// All times together.
        public private(set) var total = Duration.zero
        /// The longest duration; zero if there was none.
        public private(set) var longest = Duration.zero
        /// The last duration; nil if there was none.
        public private(set) var last: Duration?
        /// The durations since they were last taken; nil if they are not kept.
        private var samples: [Duration]?

        package init() {}

        /// The mean; nil if there was none.
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
        // They are taken after each read. If not, their number must be limited.
        if let samples, samples.count < 10_000 { self.samples?.append(time) }
    }

    /// Keeps each duration from now on, until it is taken. Earlier ones are not available.
    mutating func keepSamples() { samples = samples ?? [] }

    /// The durations since the last call.
    mutating func takeSamples() -> [Duration] {
        guard let taken = samples, !taken.isEmpty else { return [] }
        samples = []
        return taken
    }

    /// The same without the single durations.
    var summary: Self {
        var summary = self
        summary.samples = nil
        return summary
    }
}
