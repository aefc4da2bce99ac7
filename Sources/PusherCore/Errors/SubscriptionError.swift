public import RealtimePrimitives

/// Why a channel could not be subscribed. The same error is thrown by ``PusherChannel/subscribed()``, stands in the
/// event `pusher:subscription_error` (``PusherEvent/subscriptionError``), and reaches the delegate.
public struct SubscriptionError: Error, Sendable {
    /// What went wrong. New kinds may come with new versions: keep a `default` when you switch over them.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind's name, as it is printed.
        public let rawValue: String

        /// Makes a kind from its name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The channel name breaks the server's rules.
        public static let invalidChannelName = Self(rawValue: "invalidChannelName")
        /// The authorization could not be had; the cause is an ``AuthorizationError``.
        public static let authorizationFailed = Self(rawValue: "authorizationFailed")
        /// The authorization cannot be used: it lacks what the kind of channel needs, or has it in a wrong form.
        public static let invalidAuthorization = Self(rawValue: "invalidAuthorization")
        /// The server refused the subscription.
        public static let refused = Self(rawValue: "subscriptionRefused")
        /// The server did not answer in ``PusherTimeouts/subscription``.
        public static let timedOut = Self(rawValue: "subscriptionTimedOut")
        /// There are as many channels as ``PusherClientOptions/Limits-swift.struct/channels`` allows.
        public static let tooManyChannels = Self(rawValue: "tooManyChannels")
        /// The channel was unsubscribed meanwhile, or is not one that the client knows.
        public static let unsubscribed = Self(rawValue: "unsubscribed")
    }

    /// What went wrong.
    public var kind: Kind
    /// The channel.
    public var channelName: String
    /// What was wrong, and what to do about it, in one line. It has nothing secret in it, and control characters of a
    /// server's text are shown by their escapes.
    public var message: String
    /// The HTTP status of the authorization endpoint's answer, if there was one.
    public var httpStatus: Int?
    /// The body of that answer, if it was a refusal; cut to 10,000 bytes.
    public var body: String?
    /// The code, or status, that the server gave when it refused.
    public var serverCode: Int?
    /// The error underneath.
    public var cause: (any Error)?

    /// Makes an error.
    public init(
        _ kind: Kind,
        channelName: String,
        _ message: String,
        httpStatus: Int? = nil,
        body: String? = nil,
        serverCode: Int? = nil,
        cause: (any Error)? = nil
    ) {
        self.kind = kind
        self.channelName = channelName
        self.message = message.escapingControls
        self.httpStatus = httpStatus
        self.body = body
        self.serverCode = serverCode
        self.cause = cause
    }

    init(_ error: AuthorizationError, channelName: String) {
        self.init(
            .authorizationFailed,
            channelName: channelName,
            error.message,
            httpStatus: error.httpStatus,
            body: error.body,
            cause: error
        )
    }

    /// The same error if only ``PusherClientError`` fits.
    package var clientError: PusherClientError {
        PusherClientError(
            PusherClientError.Code(rawValue: kind.rawValue),
            message,
            serverCode: serverCode,
            channelName: channelName,
            cause: self
        )
    }
}

extension SubscriptionError.Kind: CustomStringConvertible {
    /// The kind's name.
    public var description: String { rawValue }
}

/// Two errors are equal if everything but the cause is.
extension SubscriptionError: Hashable {
    /// Compares everything but the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && left.channelName == right.channelName && left.message == right.message
            && left.httpStatus == right.httpStatus && left.body == right.body && left.serverCode == right.serverCode
    }

    /// Hashes kind, channel and message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        hasher.combine(channelName)
        hasher.combine(message)
    }
}

extension SubscriptionError: ExplainedError, CustomStringConvertible {
    /// Kind, channel, message, status and code in one line.
    public var description: String {
        var text = "\(kind): \(message)"
        if !channelName.isEmpty, !message.contains(channelName) { text += " (channel \(channelName))" }
        if let httpStatus { text += " (HTTP status \(httpStatus))" }
        if let serverCode { text += " (server code \(serverCode))" }
        return text.escapingControls
    }
}
