import PusherProtocol
import RealtimePrimitives

// The messages of the errors of the state machines. The machines choose the errors and their values.

extension PusherClientError {
    package static let hastyConnects = Self(
        .notConnected,
        """
        Attempt delayed: the app called connect() within 1 s after each of the last attempts had failed or was stopped. \
        Don't call connect() whenever a connection is lost or fails, because the client reconnects by itself.
        """
    )
    static let disconnected = Self(.disconnected, "Disconnected: disconnect() was called.")
    static let signedOut = Self(.signInFailed, "Sign-in stopped: signOut() was called.")
    static let released = Self(.disconnected, "Client released: the app keeps no reference to it. Keep a reference.")

    // MARK: The connection

    /// - Parameters:
    ///   - link: The words for the connection, for example "the WebSocket".
    ///   - triesHTTP: Whether the attempt uses HTTP transports, perhaps beside the WebSocket.
    static func connectionTimedOut(
        to server: TransportRequest?,
        after wait: Duration,
        _ link: String,
        isOpen: Bool,
        triesHTTP: Bool
    ) -> Self {
        let place = server.map { " to '\($0.host)', port \($0.port)," } ?? ""
        let stage = isOpen ? "\(link) is open, but the server sent no greeting" : "\(link) was not opened"
        let hint = isOpen || !triesHTTP ? "" : " \(proxyMayHoldBack)"
        let message =
            "Connection timed out: there was no connection\(place) within \(wait.inWords), because \(stage).\(hint)"
        return Self(.connectionTimedOut, message)
    }

    static func pongTimedOut(after wait: Duration, wasSuspended: Bool) -> Self {
        let addition = wasSuspended ? " The machine was suspended, or the client's thread was blocked." : ""
        return Self(
            .pongTimedOut,
            "Connection lost: nothing came from the server for \(wait.inWords) after a ping.\(addition)"
        )
    }

    /// Returns the error for a closed connection, if the transport had no better error.
    static func closed(_ closure: TransportClosure) -> Self {
        guard let code = closure.code else {
            return Self(.connectionClosed, "Connection lost: the server sent no close frame.")
        }
        let reason = closure.reason.isEmpty ? "" : " and the reason \(closure.reason.quoted)"
        // Code 1005 means that the close frame had no code. The code never appears in a frame.
        let what = code == .noStatus ? "without a code" : "with code \(code.rawValue)"
        return Self(
            .connectionClosed,
            "Connection lost: the server closed it \(what)\(reason).",
            serverCode: code.rawValue
        )
    }

    static func connectionRefused(_ loss: ConnectionStateMachine.Loss) -> Self {
        let demandsTLS = loss.reaction == .switchToTLS
        let what = demandsTLS ? "demands TLS, which the connection uses already" : "does not accept the client"
        let message = "Connection refused: the server \(what). \(loss.error.message)"
        return Self(.connectionRefused, message, serverCode: loss.closeCode?.rawValue, cause: loss.error)
    }

    /// - Parameter limit: The limit on attempts; nil if the retry policy stopped.
    static func retriesExhausted(_ limit: Int? = nil, after reason: Self) -> Self {
        let end =
            switch limit {
            case nil: "the retry policy allows no further attempt"
            case (...0)?: "no attempt is allowed"
            case let limit?: "\(limit) attempts failed"
            }
        let message = "Stopped connecting: \(end). Last failure: \(reason.message)"
        return Self(.retriesExhausted, message, serverCode: reason.serverCode, cause: reason)
    }

    // MARK: Messages from the server

    static func unusable(_ envelope: Envelope, _ fault: MessageFault, on name: String? = nil) -> Self {
        Self(.malformedMessage, "Malformed message: \(envelope.event) \(fault.rawValue).", channelName: name)
    }

    static func beforeHandshake(_ envelope: Envelope) -> Self {
        let event = envelope.event.prefix(fittingUTF8Bytes: EventName.maximumLength)
        return Self(
            .malformedMessage,
            "Malformed message: the server sent \(event) before pusher:connection_established."
        )
    }

    static func undecryptable(_ envelope: Envelope, _ reason: DecryptionStateMachine.Reason) -> Self {
        let event = envelope.event.prefix(fittingUTF8Bytes: EventName.maximumLength)
        let message = "Decryption of the event \(event.quoted) failed: \(reason)"
        return Self(.decryptionFailed, message, channelName: envelope.channel)
    }

    static func membersLeftOut(of name: String, count: Int, kept: Int, _ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers("only \(kept) of \(count) members of \(name.quoted) are kept", limit, on: name)
    }

    static func memberLeftOut(of name: String, _ limit: PresenceRoster.Limit) -> Self {
        let what = "the client ignores a member who joined \(name.quoted), and further members until others leave"
        return tooManyMembers(what, limit, on: name)
    }

    static func memberNotUpdated(of name: String, _ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers(
            "a member of \(name.quoted) stays as before, because the update exceeds the limit",
            limit,
            on: name
        )
    }

    static func watchedUsersLeftOut(_ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers("not all watched users who are online are kept", limit)
    }

    private static func tooManyMembers(_ what: String, _ limit: PresenceRoster.Limit, on name: String? = nil) -> Self {
        let limits = "limits.members allows \(limit.count), and limits.messageSize allows \(limit.size) bytes"
        return Self(.tooManyMembers, "Too many members: \(what). \(limits).", channelName: name)
    }

    // MARK: Calls of the app

    static func unsent(_ message: Envelope) -> Self {
        Self(.notConnected, "Message \(message.event.quoted) not sent: there is no connection. Call connect().")
    }

    /// - Parameter clientEvent: The event's name; nil if the app sent an event without messages.
    static func unsent(_ clientEvent: String?, on name: String, _ problem: ClientEventQueue.UnsentReason) -> Self {
        let event = clientEvent.map { " \($0.quoted)" } ?? ""
        let (code, reason) = words(of: problem, on: name)
        var error = Self(code, "Client event\(event) not sent: \(reason)", channelName: name)
        error.setEventName(clientEvent)
        return error
    }

    private static func words(of problem: ClientEventQueue.UnsentReason, on name: String) -> (Code, String) {
        switch problem {
        case .notSubscribed: return (.notSubscribed, "\(name.quoted) is not subscribed. Await subscribed() first.")
        case .invalidChannel(let error): return (.notSubscribed, "its channel cannot be subscribed. \(error.message)")
        case .unsubscribed: return (.unsubscribed, "\(name.quoted) is unsubscribed. Subscribe to it first.")
        case .full(let waiting, let partCount, let limit):
            let parts = partCount == 1 ? "" : ", and this one has \(partCount) parts"
            let reason =
                "\(waiting) events wait on \(name.quoted) already\(parts). limits.queuedClientEvents allows \(limit)."
            return (.clientEventQueueFull, reason)
        case .connectionLost: return (.notSubscribed, "the connection was lost.")
        case .subscriptionLost:
            return (.notSubscribed, "the client is subscribing to the channel again. Await subscribed() first.")
        case .channelDropped: return (.unsubscribed, "the channel was unsubscribed.")
        }
    }

    static func signInTimedOut(after wait: Duration, serverSaid words: ServerErrorMessage?) -> Self {
        Self(.signInTimedOut, "Sign-in failed: the server did not answer within \(wait.inWords)." + addition(words))
    }

    static func invalidUserAuthorization(_ problem: Authorization.Problem) -> Self {
        Self(.signInFailed, problem.words(of: "the user", data: "user_data"))
    }

    static func malformedSharedSecret(_ name: String) -> Self {
        let problem = SubscriptionError.invalidAuthorization(name, .malformedSharedSecret).message
        return Self(
            .invalidAuthorization,
            "\(problem) When the first encrypted event arrives, the client requests the key again.",
            channelName: name
        )
    }
}

extension SubscriptionError {
    static func invalidChannelName(_ name: String, _ error: ChannelName.ValidationError) -> Self {
        Self(.invalidChannelName, channelName: name, "Invalid channel name \(name.quoted): \(error).")
    }

    static func encryptionUnavailable(_ name: String) -> Self {
        let message = """
            Channel \(name.quoted) not subscribed: this build cannot decrypt events, because it has no libsodium. Set \
            options.secretBox, or turn on a trait of the package: SystemSodium on Linux and macOS, BundledSodium on \
            Apple's platforms.
            """
        return Self(.encryptionUnavailable, channelName: name, message)
    }

    static func tooManyChannels(_ name: String, count: Int) -> Self {
        let message = """
            Channel \(name.quoted) not subscribed: there are \(count) channels already, and limits.channels \
            allows no more. Unsubscribe from channels that are not needed any more.
            """
        return Self(.tooManyChannels, channelName: name, message)
    }

    static func unsubscribed(_ name: String, meanwhile: Bool = false) -> Self {
        Self(
            .unsubscribed,
            channelName: name,
            "Channel \(name.quoted) not subscribed: it \(meanwhile ? "was" : "is") unsubscribed."
        )
    }

    static func refused(_ name: String, _ message: ServerErrorMessage) -> Self {
        Self(.subscriptionRefused, channelName: name, message.message, serverCode: message.code)
    }

    /// - Parameter envelope: A `pusher:subscription_error`.
    static func refused(_ envelope: Envelope) -> Self {
        let value = envelope.data.value
        let message =
            value?["error"]?.string.map(ServerErrorMessage.presentable)
            ?? "Subscription refused: the server gave no reason."
        let name = envelope.channel?.prefix(fittingUTF8Bytes: ChannelName.maximumLength) ?? ""
        return Self(.subscriptionRefused, channelName: name, message, serverCode: value?["status"]?.integer)
    }

    static func timedOut(_ name: String, after wait: Duration, serverSaid words: ServerErrorMessage?) -> Self {
        let message =
            "Subscription to \(name.quoted) failed: the server did not answer within \(wait.inWords)." + addition(words)
        return Self(.subscriptionTimedOut, channelName: name, message)
    }

    static func ownChannelTimedOut(_ name: String, after wait: Duration) -> Self {
        let message = """
            Subscription to the user's own channel failed: the server did not answer within \(wait.inWords). Events for \
            the user may be missing until the client has subscribed. It tries again.
            """
        return Self(.subscriptionTimedOut, channelName: name, message)
    }

    /// - Parameter error: The error of the last sign-in. The client signs in again.
    static func waitingForSignIn(_ name: String, _ error: PusherClientError) -> Self {
        let answer = error.cause as? AuthorizationError
        return Self(
            .authorizationFailed,
            channelName: name,
            "Channel \(name.quoted) not subscribed: it waits for the sign-in. \(error.message)",
            httpStatus: answer?.httpStatus,
            body: answer?.body,
            serverCode: error.serverCode,
            cause: error
        )
    }

    static func invalidAuthorization(_ name: String, _ problem: Authorization.Problem) -> Self {
        Self(.invalidAuthorization, channelName: name, problem.words(of: name, data: "channel_data"))
    }

    /// Returns the error of a channel whose only authorization came from the app, for an earlier connection.
    static func authorizationUsedUp(_ name: String, _ error: AuthorizationError) -> Self {
        var failure = Self(error, channelName: name)
        failure.message = """
            Authorization of \(name.quoted) failed: its signature was for an earlier connection, and there is no \
            authMethod to get another one. Set authMethod, or set the channel's auth and subscribe again.
            """
        return failure
    }
}

extension AuthorizationError {
    static func timedOut(after wait: Duration) -> Self {
        Self(
            .timedOut,
            "Authorization timed out: no answer came within \(wait.inWords).",
            recovery: .retry(after: .zero)
        )
    }

    func clientError(_ code: PusherClientError.Code) -> PusherClientError {
        PusherClientError(code, message, cause: self)
    }
}

/// The defect of a message from the server.
enum MessageFault: String {
    case noSocketID = "has no usable socket_id; the connection cannot be used"
    case noMembers = "has no usable list of members"
    case noUserID = "has no usable user_id"
    case noSubscriptionCount = "has no usable subscription_count"
    case noUser = "names no user"
    case noEvents = "has no list of events"
    case incompleteEvent = "has an event without a name or user_ids"
}

/// Returns a sentence that quotes the server's last error without a channel, or an empty string without such an error.
/// The server sent this error after the unanswered request.
private func addition(_ words: ServerErrorMessage?) -> String {
    guard let words else { return "" }
    let code = words.code.map { " (\($0))" } ?? ""
    return " It sent an error that names no request: \(words.message.quoted)\(code)."
}

extension Authorization.Problem {
    fileprivate func words(of owner: String, data: String) -> String {
        "Invalid authorization of \(owner): \(reason(data: data))."
    }

    /// Returns the words for the problem, without a full stop.
    ///
    /// - Parameter data: The name of the member with the signed data.
    package func reason(data: String) -> String {
        switch self {
        case .noAuth: "auth is empty"
        case .malformedAuth: "auth does not have the form KEY:SIGNATURE"
        case .spacedAuth: "auth contains a space or a line break, for example at its end. Remove it"
        case .longAuth: "auth has more than \(ClientStateMachine.maximumAuthLength) bytes"
        case .longData: "\(data) has more than \(ClientStateMachine.maximumDataLength) bytes"
        case .noUserData: "user_data is missing"
        case .userDataIsNoObject: "user_data is not the JSON text of an object"
        case .userDataHasNoID: "user_data has no id"
        case .noChannelData:
            "channel_data, which names the user, is missing. Let the backend add it, or sign the user in first"
        case .channelDataIsNoObject: "channel_data is not the JSON text of an object"
        case .channelDataHasNoUserID: "channel_data has no user_id that is a string or a number"
        case .noSharedSecret: "shared_secret, which an encrypted channel needs, is missing"
        case .malformedSharedSecret: "shared_secret is not the base64 of 32 bytes"
        }
    }
}

extension DecryptionStateMachine.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let text): "\(text)."
        case .wrongKey:
            "the event cannot be decrypted, even with a newly fetched key. The key is wrong, or the event was modified in transit."
        case .refreshFailed(let error): "the key is wrong, and the client could not fetch a new key. \(error.message)"
        case .tooManyRefreshes:
            "the key is wrong, and was already fetched \(DecryptionStateMachine.maximumRefreshes) times in the last minute."
        case .tooManyHeld: "too many events wait for the channel's key."
        case .noKey(let error): "there is no key for the channel. \(error.message)"
        }
    }
}

// MARK: The HTTP transports

extension PusherClientError {
    /// Returns the error for a lost HTTP session, with the same close code as for a lost WebSocket.
    private static func sessionLost(_ message: String) -> Self {
        Self(.connectionClosed, message, serverCode: CloseCode.abnormalClosure.rawValue)
    }

    static func notOpened(status: Int) -> Self {
        Self(.upgradeFailed, "HTTP session not opened: the server answered with HTTP status \(status).")
    }

    static func interrupted(status: Int) -> Self {
        sessionLost("Connection lost: the HTTP response that brings messages ended (HTTP status \(status)).")
    }

    static func sendRefused(status: Int) -> Self {
        sessionLost("Connection lost: the client sent messages, and the server answered with HTTP status \(status).")
    }

    static func sendTimedOut(_ limit: Duration) -> Self {
        sessionLost("Connection lost: the client sent messages, and no HTTP answer came within \(limit.inWords).")
    }

    static func unstableStream(_ lives: Int) -> Self {
        sessionLost(
            "HTTP streaming not used: \(lives) connections were lost early. HTTP polling replaces it for 30 minutes."
        )
    }

    /// - Parameters:
    ///   - remembered: The transport that the client tries instead.
    ///   - failure: The last failure of the transport that the client does not try.
    static func notTried(before remembered: PusherTransport, _ failure: Self) -> Self {
        var error = failure
        error.message = "Not tried: \(remembered) carried the last connections. The last try failed: \(failure.message)"
        return error
    }

    /// Returns the error if no transport connects.
    ///
    /// - Parameter others: The transports after the preferred transport, with their errors.
    static func noTransport(_ preferred: Self, others: [(PusherTransport, Self)]) -> Self {
        var error = preferred
        for (transport, other) in others { error.message += " By \(transport): \(other.message)" }
        return error
    }

    /// - Parameter isOpen: Whether the transport has opened a connection, on which the server has sent no message.
    static func noConnection(over transport: PusherTransport, within wait: Duration, isOpen: Bool) -> Self {
        let message = "Connection timed out: there was no connection by \(transport) within \(wait.inWords)"
        let isUnanswered = transport != .webSocket && !isOpen
        let reason = isUnanswered ? ", because the request was not answered. \(proxyMayHoldBack)" : "."
        return Self(.connectionTimedOut, message + reason)
    }

    private static let proxyMayHoldBack = "A proxy may hold the answer back."

    static let lostSession = sessionLost("Connection lost: the server lost the HTTP session and opened another one.")
    static let cutFrame = sessionLost("Connection lost: the HTTP response that brings messages ended within a frame.")
    static let messageBeforeOpening = Self(
        .protocolViolation,
        "Protocol violation: the server sent a message before it opened the HTTP session."
    )

    static func sendBufferFull(limit: Int) -> Self {
        Self(
            .sendBufferFull,
            "Send buffer full: the server takes no messages, and more than \(limit) bytes wait for it."
        )
    }

    init(_ violation: HTTPFrameViolation) {
        switch violation {
        case .tooLong(let limit):
            self.init(.messageTooBig, "Message too large: a message over HTTP has more than \(limit) bytes.")
        case .malformed(let kind):
            self.init(
                .protocolViolation,
                "Protocol violation: the server sent a malformed HTTP frame of the kind '\(kind)'."
            )
        case .invalidText: self.init(.invalidText, "Invalid text: the server sent an HTTP frame that is not UTF-8.")
        }
    }
}
