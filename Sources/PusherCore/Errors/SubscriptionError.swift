public import RealtimePrimitives

/// The reason why a subscription failed. ``PusherChannel/subscribed(timeout:)`` throws the error, the event
/// `pusher:subscription_error` contains it (``PusherEvent/subscriptionError``), and the delegate gets it.
public struct SubscriptionError: Error, Sendable {
    /// The code of the failure: one of ``PusherClientError/Code/invalidChannelName``,
    /// ``PusherClientError/Code/authorizationFailed``, ``PusherClientError/Code/invalidAuthorization``,
    /// ``PusherClientError/Code/subscriptionRefused``, ``PusherClientError/Code/subscriptionTimedOut``,
    /// ``PusherClientError/Code/tooManyChannels``, ``PusherClientError/Code/encryptionUnavailable``,
    /// ``PusherClientError/Code/unsubscribed`` and ``PusherClientError/Code/waitTimedOut``. Later versions may add codes.
    public var code: PusherClientError.Code
    /// The name of the channel.
    public var channelName: String
    /// The problem and its solution, in one line. The message contains no secrets, and shows control characters from
    /// the server as escapes.
    public var message: String
    /// The HTTP status of the authorization endpoint's answer, if there was one.
    public var httpStatus: Int?
    /// The body of the authorization endpoint's answer, if the answer was a refusal or had no usable signature. The client cuts the body to 10,000
    /// bytes.
    public var body: String?
    /// The code or status in the server's refusal.
    public var serverCode: Int?
    /// The underlying error, for example an ``AuthorizationError``.
    public var cause: (any Error)?

    /// Creates an error.
    public init(
        _ code: PusherClientError.Code,
        channelName: String,
        _ message: String,
        httpStatus: Int? = nil,
        body: String? = nil,
        serverCode: Int? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
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

    /// The error as a ``PusherClientError``, for APIs that use only this type.
    package var clientError: PusherClientError {
        PusherClientError(
            code,
            message,
            serverCode: serverCode,
            channelName: channelName,
            cause: self
        )
    }
}

/// Two errors are equal if everything except the cause is equal.
extension SubscriptionError: Hashable {
    /// Compares everything except the cause.
    public static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.channelName == right.channelName && left.message == right.message
            && left.httpStatus == right.httpStatus && left.body == right.body && left.serverCode == right.serverCode
    }

    /// Hashes the code, the channel and the message.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(channelName)
        hasher.combine(message)
    }
}

extension SubscriptionError: ExplainedError, CustomStringConvertible {
    /// The code, the channel, the message, the status and the server's code in one line.
    public var description: String {
        var text = "\(code): \(message)"
        if !channelName.isEmpty, !message.contains(channelName) { text += " (channel \(channelName))" }
        if let httpStatus { text += " (HTTP status \(httpStatus))" }
        if let serverCode { text += " (server code \(serverCode))" }
        return text.escapingControls
    }
}
