public import RealtimePrimitives

/// An error of the client. A call throws the error, or ``Pusher/errors`` reports the error, or both. A failed
/// subscription has a ``SubscriptionError``.
public struct PusherClientError: Error, Sendable {
    /// The kind of error. Later versions may add codes, so keep a `default` when you switch over them.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's printed name.
        public let rawValue: String

        /// Creates a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    private struct Contents: Sendable {
        var code: Code
        var message: String
        var serverCode: Int?
        var channelName: String?
        var cause: (any Error)?
        var eventName: String?
    }

    /// The contents. They are stored outside of the error, because many states and effects have space for an error, but
    /// few contain an error.
    private var contents: Box<Contents>

    /// The kind of error.
    public var code: Code {
        get { contents.value.code }
        set { contents.value.code = newValue }
    }
    /// The failure and its reason, with the invalid value and the solution, in one line. The message shows control
    /// characters from the server as escapes.
    public var message: String {
        get { contents.value.message }
        set { contents.value.message = newValue }
    }
    /// The server's close code, or the code of its `pusher:error` or refusal. Over HTTP, the client may set 1006, the
    /// code for a connection that was lost without a close code.
    public var serverCode: Int? {
        get { contents.value.serverCode }
        set { contents.value.serverCode = newValue }
    }
    /// The channel, if the error concerns a channel.
    public var channelName: String? {
        get { contents.value.channelName }
        set { contents.value.channelName = newValue }
    }
    /// The underlying error, for example of the operating system.
    public var cause: (any Error)? {
        get { contents.value.cause }
        set { contents.value.cause = newValue }
    }
    /// The name of the event that was not sent, decrypted or decoded, if the error concerns an event.
    public var eventName: String? { contents.value.eventName }

    package mutating func setEventName(_ name: String?) { contents.value.eventName = name }

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        serverCode: Int? = nil,
        channelName: String? = nil,
        cause: (any Error)? = nil
    ) {
        contents = Box(
            Contents(
                code: code,
                message: message.escapingControls,
                serverCode: serverCode,
                channelName: channelName,
                cause: cause
            )
        )
    }
}

extension PusherClientError.Code {
    /// The app key is empty, or has characters other than letters, digits and `-._~`.
    public static let invalidKey = Self(rawValue: "invalidKey")
    /// The host is empty, or neither a host name nor an IP address.
    public static let invalidHost = Self(rawValue: "invalidHost")
    /// The port is not between 1 and 65535.
    public static let invalidPort = Self(rawValue: "invalidPort")
    /// The path prefix has characters that a URL path cannot contain, or does not start with a slash.
    public static let invalidPath = Self(rawValue: "invalidPath")
    /// An option has an invalid value, for example a negative timeout or a malformed header.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// The channel name breaks the server's rules.
    public static let invalidChannelName = Self(rawValue: "invalidChannelName")

    /// The client could not resolve the host name.
    public static let nameResolutionFailed = Self(rawValue: "nameResolutionFailed")
    /// The client could not make a TCP connection, or got no answer to the first request of an HTTP transport.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed. The client did not accept the certificate, or could not decrypt data.
    /// ``PusherClientError/tlsFailure`` gives the reason. The client tries again, as after other failures, but never
    /// without TLS.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's public key is not in ``TLSOptions/pins``. The message contains the key's pin.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// The proxy's address is invalid, or the client cannot use the proxy for that server. The message gives the
    /// reason.
    public static let invalidProxy = Self(rawValue: "invalidProxy")
    /// The client did not reach the proxy, or the proxy opened no connection to the server. The message gives the
    /// reason.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// The server's answer to the WebSocket upgrade was invalid or missing, or the server did not open an HTTP session.
    public static let upgradeFailed = Self(rawValue: "upgradeFailed")
    /// The attempt to connect took longer than ``PusherTimeouts/connectionAttempt``.
    public static let connectionTimedOut = Self(rawValue: "connectionTimedOut")
    /// The connection was lost, or the server closed it.
    public static let connectionClosed = Self(rawValue: "connectionClosed")
    /// The server refused the connection. The server would also refuse another attempt, unless something changes.
    public static let connectionRefused = Self(rawValue: "connectionRefused")
    /// The server did not answer a ping in time, and sent nothing else.
    public static let pongTimedOut = Self(rawValue: "pongTimedOut")
    /// The client stopped, because the retry policy or the limit on attempts allows no further attempt.
    public static let retriesExhausted = Self(rawValue: "retriesExhausted")
    /// There is no connection.
    public static let notConnected = Self(rawValue: "notConnected")
    /// `disconnect()` was called, or the client was released.
    public static let disconnected = Self(rawValue: "disconnected")

    /// The server broke the rules of WebSocket (RFC 6455), or of an HTTP transport.
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The server does not read, and more than ``PusherClientOptions/Limits-swift.struct/sendBufferSize`` bytes were
    /// waiting to be sent.
    public static let sendBufferFull = Self(rawValue: "sendBufferFull")
    /// A message was larger than the limit.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// A text message was not UTF-8.
    public static let invalidText = Self(rawValue: "invalidText")
    /// A message is not part of the Pusher protocol, or lacks a required part.
    public static let malformedMessage = Self(rawValue: "malformedMessage")
    /// An event has no data, or the data cannot be decoded as the requested type.
    public static let undecodableData = Self(rawValue: "undecodableData")
    /// The server sent `pusher:error`.
    public static let serverError = Self(rawValue: "serverError")

    /// The `timeout` of a call such as `connected(timeout:)` has expired. Only the call ends. The connection,
    /// subscription or sign-in continues.
    public static let waitTimedOut = Self(rawValue: "waitTimedOut")
    /// The server did not answer a subscription in time.
    public static let subscriptionTimedOut = Self(rawValue: "subscriptionTimedOut")
    /// The server refused a subscription.
    public static let subscriptionRefused = Self(rawValue: "subscriptionRefused")
    /// The channel was unsubscribed, or the client does not know the channel.
    public static let unsubscribed = Self(rawValue: "unsubscribed")

    /// The number of channels has reached ``PusherClientOptions/Limits-swift.struct/channels``.
    public static let tooManyChannels = Self(rawValue: "tooManyChannels")
    /// A presence channel has more members, or more watched users are online, than
    /// ``PusherClientOptions/Limits-swift.struct/members`` allows.
    public static let tooManyMembers = Self(rawValue: "tooManyMembers")

    /// The authorization of a channel failed. The cause gives the reason. If the authorization of the user fails, the
    /// sign-in fails with ``signInFailed``.
    public static let authorizationFailed = Self(rawValue: "authorizationFailed")
    /// The authorization of a channel is invalid.
    public static let invalidAuthorization = Self(rawValue: "invalidAuthorization")
    /// An event of an encrypted channel could not be decrypted. The message gives the reason.
    public static let decryptionFailed = Self(rawValue: "decryptionFailed")

    /// The channel is encrypted, but this build has no libsodium, and the options have no
    /// ``PusherClientOptions/secretBox``.
    public static let encryptionUnavailable = Self(rawValue: "encryptionUnavailable")

    /// The name of a client event does not begin with `client-`, or is too long.
    public static let invalidEventName = Self(rawValue: "invalidEventName")
    /// The channel accepts no client events. Only private and presence channels without encryption accept them.
    public static let clientEventsNotAllowed = Self(rawValue: "clientEventsNotAllowed")
    /// The data of a client event cannot be written as JSON.
    public static let invalidClientEventData = Self(rawValue: "invalidClientEventData")
    /// The data of a client event is longer than ``PusherClientOptions/Limits-swift.struct/clientEventSize``.
    public static let clientEventTooBig = Self(rawValue: "clientEventTooBig")
    /// A client event has to wait, but ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` allows no more
    /// waiting events on its channel.
    public static let clientEventQueueFull = Self(rawValue: "clientEventQueueFull")
    /// The server rejected a client event (4301). There were too many events in a second, the event was too big, or
    /// client events are not enabled in the settings of the Pusher app. An error 4301 without a recent client event is
    /// a ``serverError``.
    public static let clientEventRejected = Self(rawValue: "clientEventRejected")
    /// The channel is not subscribed, or cannot be subscribed. The message gives the reason.
    public static let notSubscribed = Self(rawValue: "notSubscribed")
    /// The HTTP request with a message was sent, but the server did not confirm it. The message may have arrived, so
    /// the client does not send it again. This error occurs only over ``PusherTransport/httpStreaming`` and
    /// ``PusherTransport/httpPolling``.
    public static let unanswered = Self(rawValue: "unanswered")

    /// The user was not signed in. The message and the cause give the reason.
    public static let signInFailed = Self(rawValue: "signInFailed")
    /// The server did not answer the sign-in in time.
    public static let signInTimedOut = Self(rawValue: "signInTimedOut")

    /// A ``PayloadTransformer`` threw an error, which is the cause. The error's description does not show the cause.
    public static let payloadTransformerFailed = Self(rawValue: "payloadTransformerFailed")

    /// The number of callbacks has reached ``PusherClientOptions/Limits-swift.struct/bindings``.
    public static let tooManyBindings = Self(rawValue: "tooManyBindings")
    /// A consumer was too slow, so the client dropped events, other elements of a sequence, or callbacks.
    public static let eventsDropped = Self(rawValue: "eventsDropped")
}

/// Two errors are equal if their codes, messages, server codes and channels are equal. The comparison ignores the cause
/// and the event's name.
extension PusherClientError: Hashable {
    /// Compares everything except the cause and the event's name.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.serverCode == right.serverCode
            && left.channelName == right.channelName
    }

    /// Hashes the code and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension PusherClientError.Code: CustomStringConvertible {
    /// The code's name.
    public var description: String { rawValue }
}

extension PusherClientError: ExplainedError, CustomStringConvertible {
    /// The code, the message, the channel, the server's code and the cause in one line. The description omits a channel
    /// or cause that the message already contains. It also omits a cause from the system or a library, whose reason is
    /// in the message, and the error of a ``PayloadTransformer``.
    public var description: String {
        var text = "\(code): \(message)"
        if let channelName, !message.contains(channelName) { text += " (channel \(channelName))" }
        if let serverCode { text += " (server code \(serverCode))" }
        if let cause, code != .payloadTransformerFailed, saysMore(cause) { text += " [\(cause)]" }
        return text.escapingControls
    }

    private func saysMore(_ cause: any Error) -> Bool {
        guard let cause = cause as? any ExplainedError else { return !Self.codesOfLibraries.contains(code) }
        return !message.contains(cause.message)
    }

    /// The codes of errors whose causes come from the system or a library.
    private static let codesOfLibraries: Set<Code> = [
        .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed, .proxyFailed, .upgradeFailed,
        .notConnected, .invalidOption,
    ]
}
