/// The counts of a client since it was created: see ``Pusher/statistics``.
///
/// The statistics are a value that does not change later. Counts only grow, except the counts that describe the current
/// state. If the counts of a type add up, the documentation of the type says how.
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
    /// Each of the ``attempts`` is ``established``, failed (``failedAttempts``), abandoned (``abandonedAttempts``), or
    /// still under way. Each established connection is ``lost``, ``closed`` or open.
    public struct Connections: Hashable, Sendable {
        /// Attempts to connect. An attempt may try several transports.
        public var attempts = 0
        /// Attempts that led to a connection: the socket was open, and the server had greeted the client.
        public var established = 0
        /// Attempts that led to a connection, by the transport of the connection.
        public var establishedOver: [PusherTransport: Int] = [:]
        /// The transport of the current or last connection; nil if there was no connection.
        public var transport: PusherTransport?
        /// The transports of ``PusherClientOptions/transports`` that the client could not use, with the reasons. Such a
        /// transport has failed, was too slow or is unusable, or the client did not try it because of an earlier
        /// failure. A transport that was not necessary has no reason.
        public var unusedTransports: [PusherTransport: PusherClientError] = [:]
        /// Attempts that failed, by reason.
        public var failedAttempts: [LossReason: Int] = [:]
        /// Attempts that the app stopped, because it disconnected or started another attempt.
        public var abandonedAttempts = 0
        /// Connections that were lost, or that the app replaced, by reason.
        public var lost: [LossReason: Int] = [:]
        /// Connections that the app closed with ``Pusher/disconnect()``, or by releasing the client.
        public var closed = 0
        /// The number of times that the client stopped because another attempt would have failed too:
        /// ``ConnectionStatus/refused(_:)``.
        public var refused = 0
        /// The number of times that the client stopped because of its options:
        /// ``ConnectionStatus/disconnected(reason:)`` with a reason.
        public var givenUp = 0
        /// The times from a loss until the next connection, if the client reconnected by itself. Connections that the
        /// app replaced (``LossReason/replaced``) do not count.
        public var recovery = Timing()
        /// The total time of all connections, including the current connection.
        public var timeConnected = Duration.zero

        package init() {}
    }

    /// Pings and their answers.
    public struct Pings: Hashable, Sendable {
        /// Pings that the client sent.
        public var sent = 0
        /// Pings of the client that the server answered.
        public var answered = 0
        /// The times from a ping to its pong. Pings that the client sent while another ping was unanswered do not
        /// count, because a pong does not name its ping.
        public var roundTrip = Timing()
        /// The time that the client stays silent before it pings, because the server or a proxy drops connections of
        /// silent clients. Nil if the client knows no such limit, or tests whether these pings are still necessary.
        /// While the value is nil, the client pings only after the activity timeout. The value describes the current
        /// state. The value becomes nil after ``Pusher/switchTo(endpoint:key:authMethod:userAuthMethod:)`` to another
        /// host or port.
        public var keepAliveInterval: Duration?
        /// Pings of the server. The client answers each of them. WebSocket pings do not count.
        public var received = 0

        package init() {}
    }

    /// All messages sent and received: events, and messages of the protocol.
    public struct Messages: Hashable, Sendable {
        /// Messages that the client received.
        public var received = 0
        /// The size of the received messages' text, in bytes. WebSocket frames and TLS do not count.
        public var bytesReceived = 0
        /// Messages that the client handed to a socket.
        public var sent = 0
        /// The size of the sent messages' text, in bytes.
        public var bytesSent = 0
        /// Messages from ``PusherConnection/sendEvent(event:data:channel:)`` that could not be sent. ``Pusher/errors``
        /// reports each of them.
        public var unsent = 0
        /// Messages that are not part of the protocol, or lack a required member. ``Pusher/errors`` reports each of
        /// them.
        public var malformed = 0
        /// Messages of the protocol without an effect. The messages are unknown, or concern a channel, a member or a
        /// user that the client no longer tracks. Messages of the protocol and malformed messages on a dropped socket,
        /// and pongs without a ping, count too.
        public var ignored = 0

        package init() {}
    }

    /// Subscriptions to channels.
    public struct Subscriptions: Hashable, Sendable {
        /// The channels that are subscribed now.
        public var current = 0
        /// Subscriptions that the server confirmed, including subscriptions after a loss.
        public var succeeded = 0
        /// Subscriptions that the client renewed after a loss, after the app replaced the connection, because of
        /// ``PusherChannel/resubscribe()``, or because the server refused a confirmed channel.
        public var resubscribed = 0
        /// Subscriptions that the client sent again because the server's rate limit may have dropped them.
        public var repeated = 0
        /// Failures that the client reported. If the client tries again after a failure, it reports only the first.
        public var failed = 0
        /// Further tries of subscriptions, after failures that may pass. The user's own channel counts too, and so do
        /// further requests for the key of an encrypted channel that is subscribed.
        public var retried = 0

        package init() {}
    }

    /// Authorizations of channels and of the user.
    ///
    /// Each authorization that was ``begun`` has ``succeeded``, ``failed``, was ``cancelled``, or is still under way.
    public struct Authorizations: Hashable, Sendable {
        /// Authorizations that the client requested. A further try after a failure that may pass is a new authorization.
        public var begun = 0
        /// Calls of authorizers and requests to endpoints. An authorization has a second try after
        /// ``AuthorizationError/Recovery-swift.enum/askOnceMore``. If one call or request is for several channels, it
        /// counts once for each channel.
        public var tries = 0
        /// Authorizations that the authorizer returned. The client can still reject them, and the server can still
        /// refuse them.
        public var succeeded = 0
        /// Authorizations that failed.
        public var failed = 0
        /// Authorizations that were not needed any more, for example because the connection was lost, the channel was
        /// unsubscribed, or the user was signed out.
        public var cancelled = 0
        /// The times until authorizations succeeded, including the wait for other authorizations.
        public var latency = Timing()

        package init() {}
    }

    /// Sign-ins of the user.
    public struct SignIns: Hashable, Sendable {
        /// Sign-ins that the server confirmed, including sign-ins after a loss.
        public var succeeded = 0
        /// Failures that the client reported. If the client tries again after a failure, it reports only the first.
        public var failed = 0
        /// Further tries of the sign-in, after failures that may pass.
        public var retried = 0

        package init() {}
    }

    /// Client events that the app sent.
    ///
    /// Each ``accepted`` event was ``sent`` or ``dropped``, is ``waiting``, or is being written. If a
    /// ``PayloadTransformer`` makes several events from one event, each of these events counts.
    public struct ClientEvents: Hashable, Sendable {
        /// Events that the client accepted, to send them at once or later.
        public var accepted = 0
        /// Events that the client wrote to a WebSocket, or sent in an HTTP request that the server answered. The server
        /// does not confirm the events themselves.
        public var sent = 0
        /// Events that are waiting until their channel is subscribed, or until the server's limit allows them.
        public var waiting = 0
        /// Accepted events that the client will not send, because the channel was unsubscribed, or a waiting call was
        /// cancelled. If a call waits for the event, the client also drops the event when the connection is lost, or
        /// when it subscribes to the channel again. The client subscribes again after ``PusherChannel/resubscribe()``,
        /// or if the server refuses a confirmed channel. Events of an unanswered HTTP request count too, although they
        /// may have arrived. If a ``PayloadTransformer`` split such an event into parts, the later parts count too.
        /// Events of ``PusherChannel/sendLatest(_:data:encoder:)`` count if a later event replaced them, if the channel
        /// was not subscribed, or if too many events waited. They also count if the connection or the subscription was
        /// lost meanwhile.
        public var dropped = 0
        /// Events that the client did not accept. An error gives the reason for each of them.
        public var rejected = 0
        /// The number of errors with which the server rejected an event (4301).
        public var rejectedByServer = 0

        package init() {}
    }
}

extension PusherStatistics {
    /// Events for the app.
    ///
    /// Each of the ``received`` events was ``delivered``, is ``undecryptable`` or ``held``, or was dropped as
    /// ``DropReason/notSubscribed`` or ``DropReason/notConnected``. Events that were dropped for another reason were
    /// delivered first, but a consumer missed them.
    public struct Events: Hashable, Sendable {
        /// Events from the server.
        public var received = 0
        /// Events that the client delivered to callbacks and sequences, through the ``PayloadTransformer`` if there is
        /// one.
        public var delivered = 0
        /// Delivered events that had neither a callback nor a sequence when they arrived. If you did not expect such
        /// events, check their names.
        public var unhandled = 0
        /// Events of encrypted channels that the client could not decrypt. ``Pusher/errors`` reports each of them.
        public var undecryptable = 0
        /// Events of encrypted channels that are waiting for a key, or for ``PusherClientOptions/secretBox``.
        public var held = 0
        /// Dropped events by reason. Dropped callbacks, and dropped elements of other sequences, count too.
        public var dropped: [DropReason: Int] = [:]

        package init() {}
    }

    /// The reason why an event did not reach its listeners. Later versions may add reasons, so keep a `default` when
    /// you switch over them.
    public struct DropReason: RawRepresentable, Hashable, Sendable {
        /// The reason's printed name.
        public let rawValue: String

        /// Creates a reason from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The channel was unsubscribed while the event was in transit or waited for a key. The reason also covers
        /// events for a user who is not signed in.
        public static let notSubscribed = Self(rawValue: "notSubscribed")
        /// The event arrived before the server's greeting, after ``Pusher/disconnect()``, or on a dropped connection.
        public static let notConnected = Self(rawValue: "notConnected")
        /// The event arrived before the channel had a listener for it, and too many events waited: see
        /// ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``. When the listener is
        /// added, ``Pusher/errors`` reports the loss, and the event counts here. If the client had no listener for it
        /// either, it also counts as ``Events/unhandled``.
        public static let noListener = Self(rawValue: "noListener")
        /// A sequence was full: see ``PusherClientOptions/Limits-swift.struct/sequenceBuffer``. An event counts once
        /// for each full sequence. Elements of sequences of statuses, errors, members and others count too.
        /// ``Pusher/errors`` reports the loss.
        public static let sequenceOverflow = Self(rawValue: "sequenceOverflow")
        /// A callback did not run, because too many callbacks waited for their queue: see
        /// ``PusherClientOptions/Limits-swift.struct/pendingCallbacks``. ``Pusher/errors`` reports the loss.
        public static let callbackOverflow = Self(rawValue: "callbackOverflow")
        /// The data could not be decoded as the type of a sequence or callback. An event counts once for each such
        /// sequence or callback. ``Pusher/errors`` reports the error.
        public static let undecodable = Self(rawValue: "undecodable")
        /// The ``PayloadTransformer`` threw an error. ``Pusher/errors`` reports the error.
        public static let transformerFailed = Self(rawValue: "transformerFailed")
    }
}

extension PusherStatistics.DropReason: CustomStringConvertible {
    /// The reason's name.
    public var description: String { rawValue }
}

extension PusherStatistics {
    /// The number and the sum of durations, with the longest and the last duration.
    public struct Timing: Hashable, Sendable {
        /// The number of durations.
        public private(set) var count = 0
        /// The sum of all durations.
        public private(set) var total = Duration.zero
        /// The longest duration; zero if there was none.
        public private(set) var longest = Duration.zero
        /// The last duration; nil if there was none.
        public private(set) var last: Duration?
        /// The durations since the last call of ``takeSamples()``, at most 10,000; nil if this value does not keep
        /// durations.
        private var samples: [Duration]?

        package init() {}

        /// The mean duration; nil if there was none.
        public var mean: Duration? { count == 0 ? nil : total / count }
    }
}

extension PusherStatistics.Timing {
    /// Adds one duration.
    mutating func add(_ time: Duration) {
        count += 1
        total += time
        longest = max(longest, time)
        last = time
        // If the shell does not take the durations, their number must not grow without limit.
        if let samples, samples.count < 10_000 { self.samples?.append(time) }
    }

    /// Keeps the durations from now on, at most 10,000, until ``takeSamples()`` returns them. Earlier durations are not
    /// available.
    mutating func keepSamples() { samples = samples ?? [] }

    /// Returns the durations since the last call.
    mutating func takeSamples() -> [Duration] {
        guard let taken = samples, !taken.isEmpty else { return [] }
        samples = []
        return taken
    }

    /// The timing without the single durations.
    var summary: Self {
        var summary = self
        summary.samples = nil
        return summary
    }
}
