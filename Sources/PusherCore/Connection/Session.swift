import PusherProtocol

/// The state of one connection, from the handshake to its end.
///
/// Machines that outlive a connection reset their part of it in ``ClientStateMachine/end(_:now:into:)``:
/// ``ClientEventQueue``, ``SubscriptionPace`` and each ``SubscriptionStateMachine``.
package struct Session: Hashable, Sendable {
    package let attempt: AttemptID
    package let socketID: String
    package let since: Instant
    /// How long the server may be silent before the client pings.
    let activityTimeout: Duration
    /// The code of the last `pusher:error`. A close that it announced is not reported a second time.
    var reportedCode: ReportedCode?
    var liveness: LivenessStateMachine
    var silence: SilenceWatch
    var pingStopwatch = PingStopwatch()
    package var authorizations = AuthorizationStateMachine()
    var requests = UnansweredRequests()
    package var signIn = SignInStateMachine()
    /// When the app last sent a message of its own.
    var ownMessageSentAt: Instant?

    init(_ attempt: AttemptID, _ handshake: Handshake, _ configuration: CoreConfiguration, now: Instant) {
        self.attempt = attempt
        socketID = handshake.socketID
        since = now
        silence = SilenceWatch(since: now)
        let ceiling = configuration.activityTimeout
        // Whatever the options say, there is a pause between pings.
        activityTimeout = max(min(handshake.activityTimeout ?? ceiling, ceiling), .milliseconds(1))
        liveness = LivenessStateMachine(
            activityTimeout: activityTimeout,
            pongTimeout: configuration.timeouts.pong,
            now: now
        )
    }

    /// Handles a frame of any kind. Returns the actions, and the silence of the client that the connection has
    /// survived.
    mutating func frameCame(now: Instant) -> (LivenessStateMachine.Action?, survivedSilence: Duration?) {
        (liveness.activity(now: now), silence.prove())
    }
}

/// The code of a `pusher:error`.
struct ReportedCode: Hashable, Sendable {
    var code: Int
    var time: Instant

    /// Whether it announced the close that follows. An older error was about something else.
    func announced(_ close: CloseCode?, now: Instant) -> Bool {
        close?.rawValue == code && now - time < .seconds(5)
    }
}

/// The data of `pusher:connection_established`.
package struct Handshake: Hashable, Sendable {
    package var socketID: String
    package var activityTimeout: Duration?

    /// The shortest activity timeout that is accepted. Less would cause a flood of pings.
    private static let shortestActivityTimeout = Duration.seconds(1)

    /// In bytes. The socket id goes into requests, signed texts and the log.
    private static let maximumSocketIDLength = 200

    /// The protocol allows digits and a full stop. Bytes with a meaning in a form, a header field or a signed text must
    /// not get there.
    private static func isOfSocketID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns `nil` if there is no usable socket id. A missing or unusable activity timeout is ignored.
    init?(_ data: Envelope.Payload) {
        guard let value = data.value, let socketID = value["socket_id"]?.string, !socketID.isEmpty,
            socketID.utf8.count <= Self.maximumSocketIDLength, socketID.utf8.allSatisfy(Self.isOfSocketID)
        else { return nil }
        self.socketID = socketID
        if let seconds = value["activity_timeout"]?.double, seconds > 0, seconds < 86_400 {
            activityTimeout = max(.milliseconds(Int(seconds * 1_000)), Self.shortestActivityTimeout)
        }
    }
}
