import PusherProtocol

/// The state of one connection after the handshake.
///
/// ``ClientEventQueue``, ``SubscriptionPace`` and each ``SubscriptionStateMachine`` outlive a connection.
/// ``ClientStateMachine/end(_:now:into:)`` resets the part of their state that belongs to the connection.
package struct Session: Hashable, Sendable {
    package let attempt: AttemptID
    package let socketID: String
    package let since: Instant
    /// The silence of the server after which the client pings.
    let activityTimeout: Duration
    /// The code of the last `pusher:error`. If the error announced a close, the client does not also report the close.
    var reportedCode: ReportedCode?
    /// Whether the connection was just lost without a known reason.
    var isLossUnexplained = false
    var liveness: LivenessStateMachine
    var clientSilence: SilenceWatch
    var pingStopwatch = PingStopwatch()
    package var authorizations = AuthorizationStateMachine()
    package var retries = Retries()
    var requests = UnansweredRequests()
    package var signIn = SignInStateMachine()
    /// The time of the last message that ``ClientStateMachine/sendMessage(_:now:into:)`` sent.
    var ownMessageSentAt: Instant?

    init(_ attempt: AttemptID, _ handshake: Handshake, _ configuration: CoreConfiguration, now: Instant) {
        self.attempt = attempt
        socketID = handshake.socketID
        since = now
        clientSilence = SilenceWatch(since: now)
        let ceiling = configuration.activityTimeout
        // The client must not ping without a pause, so the minimum is a millisecond.
        activityTimeout = max(min(handshake.activityTimeout ?? ceiling, ceiling), .milliseconds(1))
        liveness = LivenessStateMachine(
            activityTimeout: activityTimeout,
            pongTimeout: configuration.timeouts.pong,
            now: now
        )
    }

    /// Handles a frame of any kind. Returns the next action, and the result of ``SilenceWatch/prove()``.
    mutating func frameReceived(now: Instant) -> (LivenessStateMachine.Action?, survivedSilence: Duration?) {
        (liveness.frameReceived(now: now), clientSilence.prove())
    }
}

/// The code of a `pusher:error`, and its time.
struct ReportedCode: Hashable, Sendable {
    var code: Int
    var time: Instant

    /// Returns whether the error announced the close that followed. An older error is not the reason for the close.
    func announced(_ close: CloseCode?, now: Instant) -> Bool {
        close?.rawValue == code && now - time < .seconds(5)
    }
}

/// The data of `pusher:connection_established`.
package struct Handshake: Hashable, Sendable {
    package var socketID: String
    package var activityTimeout: Duration?

    /// The shortest activity timeout that the client accepts. A shorter timeout would cause a flood of pings.
    private static let shortestActivityTimeout = Duration.seconds(1)

    /// The maximum size of a socket id, in bytes. There is a limit, because requests, signed strings and the log
    /// contain the socket id.
    private static let maximumSocketIDLength = 200

    /// Returns whether a socket id can contain the byte. The protocol allows digits and a full stop. The client also
    /// accepts other bytes that have no special meaning in forms, header fields and signed strings.
    private static func isOfSocketID(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }

    /// Returns `nil` if there is no usable socket id. The client ignores a missing or unusable activity timeout.
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
