public import RealtimePrimitives

/// An error of this package. Calls throw it, and the client reports it if no call waits for the result. Subscriptions
/// that fail have ``SubscriptionError``.
public struct PusherClientError: Error, Sendable {
    /// The kind of error. New codes may come with new versions: keep a `default` when you switch over them.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code's name, as it is printed.
        public let rawValue: String

        /// Makes a code from its name.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// The kind of error.
    public var code: Code
    /// What failed and why, with the invalid value and the solution, in one line. Control characters of a server's text
    /// are shown by their escapes.
    public var message: String
    /// The WebSocket close code, or the code of a `pusher:error`, that the server gave.
    public var serverCode: Int?
    /// The channel, if the error belongs to one.
    public var channelName: String?
    /// The underlying error, for example of the operating system.
    public var cause: (any Error)?
    /// The event that was not sent, decrypted or decoded, if the error belongs to one.
    public package(set) var eventName: String?

    /// Makes an error.
    public init(
        _ code: Code,
        _ message: String,
        serverCode: Int? = nil,
        channelName: String? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message.escapingControls
        self.serverCode = serverCode
        self.channelName = channelName
        self.cause = cause
    }
}

extension PusherClientError.Code {
    /// The app key is empty, or has characters that a URL path segment cannot contain.
    public static let invalidKey = Self(rawValue: "invalidKey")
    /// The host is empty, or neither a host name nor an IP address.
    public static let invalidHost = Self(rawValue: "invalidHost")
    /// The port is not within 1 and 65535.
    public static let invalidPort = Self(rawValue: "invalidPort")
    /// The path prefix has characters that a URL path cannot contain, or does not start with a slash.
    public static let invalidPath = Self(rawValue: "invalidPath")
    /// An option has an invalid value, for example a negative timeout or a malformed header.
    public static let invalidOption = Self(rawValue: "invalidOption")
    /// The channel name breaks the server's rules.
    public static let invalidChannelName = Self(rawValue: "invalidChannelName")

    /// The host name could not be resolved.
    public static let nameResolutionFailed = Self(rawValue: "nameResolutionFailed")
    /// No TCP connection could be made.
    public static let connectionFailed = Self(rawValue: "connectionFailed")
    /// TLS failed: the client did not accept the certificate, or data could not be decrypted.
    /// ``PusherClientError/tlsFailure`` says why. The client tries again as after other failures, but never without
    /// TLS.
    public static let tlsFailed = Self(rawValue: "tlsFailed")
    /// The server's public key is not in ``TLSOptions/pins``. The message has its pin.
    public static let pinMismatch = Self(rawValue: "pinMismatch")
    /// The proxy's address is invalid, or the proxy cannot be used for that server. The message says why.
    public static let invalidProxy = Self(rawValue: "invalidProxy")
    /// The client did not reach the proxy, or the proxy opened no connection to the server. The message says which, and
    /// why.
    public static let proxyFailed = Self(rawValue: "proxyFailed")
    /// The server's answer to the WebSocket upgrade was invalid, or missing.
    public static let upgradeFailed = Self(rawValue: "upgradeFailed")
    /// The attempt to connect took longer than ``PusherTimeouts/connectionAttempt``.
    public static let connectionTimedOut = Self(rawValue: "connectionTimedOut")
    /// The connection ended: closed by the server, or lost.
    public static let connectionClosed = Self(rawValue: "connectionClosed")
    /// The server refused the connection for good. Another attempt without a change would be refused too.
    public static let connectionRefused = Self(rawValue: "connectionRefused")
    /// The server sent nothing during the activity timeout, or during the pong timeout after a ping.
    public static let pongTimedOut = Self(rawValue: "pongTimedOut")
    /// The retry policy, or a limit of attempts, ended the attempts to connect.
    public static let retriesExhausted = Self(rawValue: "retriesExhausted")
    /// There is no connection at this moment.
    public static let notConnected = Self(rawValue: "notConnected")
    /// `disconnect()` was called, or the client was released.
    public static let disconnected = Self(rawValue: "disconnected")

    /// The server broke the rules of WebSocket (RFC 6455).
    public static let protocolViolation = Self(rawValue: "protocolViolation")
    /// The server does not read: more than ``PusherClientOptions/Limits-swift.struct/sendBufferSize`` bytes waited for it.
    public static let sendBufferFull = Self(rawValue: "sendBufferFull")
    /// A message was larger than the limit.
    public static let messageTooBig = Self(rawValue: "messageTooBig")
    /// A text message was not UTF-8.
    public static let invalidText = Self(rawValue: "invalidText")
    /// A message was not one of the Pusher protocol, or lacked a required part.
    public static let malformedMessage = Self(rawValue: "malformedMessage")
    /// An event has no data, or its data does not fit the type.
    public static let undecodableData = Self(rawValue: "undecodableData")
    /// The server sent `pusher:error`.
    public static let serverError = Self(rawValue: "serverError")

    /// The `timeout` of a call such as `connected(timeout:)` is over. It ends the wait. The connection, subscription or
    /// sign-in continues.
    public static let waitTimedOut = Self(rawValue: "waitTimedOut")
    /// The server did not answer a subscription in time.
    public static let subscriptionTimedOut = Self(rawValue: "subscriptionTimedOut")
    /// The server refused a subscription.
    public static let subscriptionRefused = Self(rawValue: "subscriptionRefused")
    /// The channel was unsubscribed, or the client does not know it.
    public static let unsubscribed = Self(rawValue: "unsubscribed")

    /// There are as many channels as ``PusherClientOptions/Limits-swift.struct/channels`` allows.
    public static let tooManyChannels = Self(rawValue: "tooManyChannels")
    /// A presence channel has more members, or more watched users are online, than
    /// ``PusherClientOptions/Limits-swift.struct/members`` allows.
    public static let tooManyMembers = Self(rawValue: "tooManyMembers")

    /// The authorization of a channel, or of the user, failed. The cause says why.
    public static let authorizationFailed = Self(rawValue: "authorizationFailed")
    /// The authorization of a channel is invalid.
    public static let invalidAuthorization = Self(rawValue: "invalidAuthorization")
    /// An event of an encrypted channel could not be decrypted; the message says why.
    public static let decryptionFailed = Self(rawValue: "decryptionFailed")

    /// The name of a client event does not begin with `client-`, or is too long.
    public static let invalidEventName = Self(rawValue: "invalidEventName")
    /// Client events are allowed on private and presence channels only, and not on encrypted ones.
    public static let clientEventsNotAllowed = Self(rawValue: "clientEventsNotAllowed")
    /// The data of a client event cannot be written as JSON.
    public static let invalidClientEventData = Self(rawValue: "invalidClientEventData")
    /// The data of a client event is longer than ``PusherClientOptions/Limits-swift.struct/clientEventSize``.
    public static let clientEventTooBig = Self(rawValue: "clientEventTooBig")
    /// As many client events wait as ``PusherClientOptions/Limits-swift.struct/queuedClientEvents`` allows.
    public static let clientEventQueueFull = Self(rawValue: "clientEventQueueFull")
    /// The server rejected a client event (4301): too many in a second, too big, or not enabled for the app. An error
    /// 4301 without a recent client event is a ``serverError``.
    public static let clientEventRejected = Self(rawValue: "clientEventRejected")
    /// The channel is not subscribed at this moment, or can never be. The message says which.
    public static let notSubscribed = Self(rawValue: "notSubscribed")

    /// The user was not signed in; the message and the cause say why.
    public static let signInFailed = Self(rawValue: "signInFailed")
    /// The server did not answer the sign-in in time.
    public static let signInTimedOut = Self(rawValue: "signInTimedOut")

    /// A ``PayloadTransformer`` threw an error, which is the cause. The description does not show it.
    public static let payloadTransformerFailed = Self(rawValue: "payloadTransformerFailed")

    /// As many callbacks are bound as ``PusherClientOptions/Limits-swift.struct/bindings`` allows.
    public static let tooManyBindings = Self(rawValue: "tooManyBindings")
    /// A consumer was too slow, and events, other elements of a sequence, or callbacks were dropped.
    public static let eventsDropped = Self(rawValue: "eventsDropped")
}

/// Two errors are equal if code, message, server code and channel are equal; the cause is not compared.
extension PusherClientError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message && left.serverCode == right.serverCode
            && left.channelName == right.channelName
    }

    /// Hashes code and message.
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
    /// Code, message and cause in one line. Texts of the system and of libraries are part of the message, in this
    /// package's words, and are not repeated.
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

    /// The codes whose causes have texts of the system or a library.
    private static let codesOfLibraries: Set<Code> = [
        .nameResolutionFailed, .connectionFailed, .connectionClosed, .tlsFailed, .proxyFailed, .upgradeFailed,
        .notConnected, .invalidOption,
    ]
}
