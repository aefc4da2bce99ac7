import PusherProtocol
import RealtimePrimitives

// What the errors of the machines say. The machines decide which error it is, and give the values in it.

extension PusherClientError {
    static let disconnected = Self(.disconnected, "disconnect() was called")
    static let signedOut = Self(.signInFailed, "signOut() was called")
    static let released = Self(.disconnected, "the client was released: its last reference is gone")

    // MARK: The connection

    /// - Parameter link: What was opened, or was to be.
    static func connectionTimedOut(
        to server: TransportRequest?,
        after wait: Duration,
        _ link: String,
        isOpen: Bool
    ) -> Self {
        let place = server.map { " to '\($0.host)', port \($0.port)," } ?? ""
        let stage = isOpen ? "\(link) is open, but the server sent no greeting" : "\(link) was not opened"
        return Self(.connectionTimedOut, "no connection\(place) within \(wait): \(stage)")
    }

    static func pongTimedOut(after wait: Duration, wasSuspended: Bool) -> Self {
        let addition = wasSuspended ? "; the machine had been suspended, or the event loop held up" : ""
        return Self(.pongTimedOut, "nothing came from the server for \(wait) after a ping\(addition)")
    }

    /// The error that a close is, if the transport had no better one.
    static func closed(_ closure: TransportClosure) -> Self {
        guard let code = closure.code else {
            return Self(.connectionClosed, "the connection was lost without a closing handshake")
        }
        let reason = closure.reason.isEmpty ? "" : ": \(closure.reason)"
        // 1005 is never on the wire. It means that there was no code.
        let what = code == .noStatus ? "without a code" : "with code \(code.rawValue)"
        return Self(.connectionClosed, "the server closed the connection \(what)\(reason)", serverCode: code.rawValue)
    }

    static func connectionRefused(_ loss: ConnectionStateMachine.Loss) -> Self {
        let demandsTLS = loss.reaction == .switchToTLS
        let what = demandsTLS ? "demands TLS of a connection that uses it" : "refuses the connection"
        let message = "the server \(what): \(loss.error.message)"
        return Self(.connectionRefused, message, serverCode: loss.closeCode?.rawValue, cause: loss.error)
    }

    /// - Parameter limit: The limit that was met; nil if it was the retry policy that gave up.
    static func retriesExhausted(_ limit: Int? = nil, after reason: Self) -> Self {
        let end =
            switch limit {
            case nil: "the retry policy gave up"
            case (...0)?: "no attempt is allowed"
            case let limit?: "\(limit) attempts to reconnect did not succeed"
            }
        let message = "\(end); the last failure: \(reason.message)"
        return Self(.retriesExhausted, message, serverCode: reason.serverCode, cause: reason)
    }

    // MARK: What the server sends

    static func unusable(_ envelope: Envelope, _ fault: MessageFault, on name: String? = nil) -> Self {
        Self(.malformedMessage, "\(envelope.event) \(fault.rawValue)", channelName: name)
    }

    static func beforeHandshake(_ envelope: Envelope) -> Self {
        let event = envelope.event.prefix(fittingUTF8Bytes: EventName.maximumLength)
        return Self(.malformedMessage, "the server sent \(event) before pusher:connection_established")
    }

    static func undecryptable(_ envelope: Envelope, _ reason: DecryptionStateMachine.Reason) -> Self {
        let event = envelope.event.prefix(fittingUTF8Bytes: EventName.maximumLength)
        let message = "the event \(event) cannot be decrypted: \(reason)"
        return Self(.decryptionFailed, message, channelName: envelope.channel)
    }

    static func membersLeftOut(of name: String, count: Int, kept: Int, _ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers("\(name) has \(count) members, of whom \(kept) are kept", limit, on: name)
    }

    static func memberLeftOut(of name: String, _ limit: PresenceRoster.Limit) -> Self {
        let what = "somebody has come to \(name) who is not kept, nor will others be until members leave"
        return tooManyMembers(what, limit, on: name)
    }

    static func memberNotUpdated(of name: String, _ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers("a member of \(name) stays as before, because the update is beyond the limit", limit, on: name)
    }

    static func watchedUsersLeftOut(_ limit: PresenceRoster.Limit) -> Self {
        tooManyMembers("more watched users are online than are kept", limit)
    }

    private static func tooManyMembers(_ what: String, _ limit: PresenceRoster.Limit, on name: String? = nil) -> Self {
        let limits = "limits.members allows \(limit.count), and limits.messageSize \(limit.size) bytes of them"
        return Self(.tooManyMembers, "\(what): \(limits)", channelName: name)
    }

    // MARK: What the app wants

    static func unsent(_ message: Envelope) -> Self {
        Self(.notConnected, "the message \(message.event) was not sent: there is no connection")
    }

    /// - Parameter clientEvent: The event's name; nil if the error does not say it.
    static func unsent(_ clientEvent: String?, on name: String, _ problem: ClientEventQueue.UnsentReason) -> Self {
        let event = clientEvent.map { " \($0)" } ?? ""
        let (code, reason) = words(of: problem, on: name)
        return Self(code, "the client event\(event) was not sent: \(reason)", channelName: name)
    }

    private static func words(of problem: ClientEventQueue.UnsentReason, on name: String) -> (Code, String) {
        switch problem {
        case .notSubscribed: return (.notSubscribed, "\(name) is not subscribed; await subscribed() before")
        case .invalidChannel(let error): return (.notSubscribed, error.message)
        case .unsubscribed: return (.unsubscribed, "\(name) is unsubscribed")
        case .full(let waiting, let partCount, let limit):
            let parts = partCount == 1 ? "" : ", and it goes out in \(partCount)"
            let reason = "\(waiting) events wait on \(name) already\(parts); limits.queuedClientEvents allows \(limit)"
            return (.clientEventQueueFull, reason)
        case .connectionLost: return (.notSubscribed, "the connection was lost")
        case .subscriptionLost: return (.notSubscribed, "the channel is being subscribed again")
        case .channelDropped: return (.unsubscribed, "the channel was unsubscribed")
        }
    }

    static func signInTimedOut(after wait: Duration, serverSaid words: ServerErrorMessage?) -> Self {
        Self(.signInTimedOut, "the server did not answer the sign-in within \(wait)" + addition(words))
    }

    static func invalidUserAuthorization(_ problem: Authorization.Problem) -> Self {
        Self(.signInFailed, problem.words(of: "the user", data: "user_data"))
    }

    static func malformedSharedSecret(_ name: String) -> Self {
        let problem = SubscriptionError.invalidAuthorization(name, .malformedSharedSecret).message
        return Self(.invalidAuthorization, "\(problem); it is asked for again with the first event", channelName: name)
    }
}

extension SubscriptionError {
    static func invalidChannelName(_ name: String, _ error: ChannelName.ValidationError) -> Self {
        Self(.invalidChannelName, channelName: name, "\(name.quoted) cannot be subscribed: \(error)")
    }

    static func tooManyChannels(_ name: String, count: Int) -> Self {
        let message = """
            \(name.quoted) is not subscribed: there are \(count) channels already, and limits.channels \
            allows no more; unsubscribe from those that are not needed any more
            """
        return Self(.tooManyChannels, channelName: name, message)
    }

    static func unsubscribed(_ name: String, meanwhile: Bool = false) -> Self {
        Self(.unsubscribed, channelName: name, "the channel \(name) \(meanwhile ? "was" : "is") unsubscribed")
    }

    static func refused(_ name: String, _ message: ServerErrorMessage) -> Self {
        Self(.subscriptionRefused, channelName: name, message.message, serverCode: message.code)
    }

    /// - Parameter envelope: A `pusher:subscription_error`.
    static func refused(_ envelope: Envelope) -> Self {
        let value = envelope.data.value
        let message = value?["error"]?.string.map(ServerErrorMessage.presentable) ?? "the server gave no reason"
        let name = envelope.channel?.prefix(fittingUTF8Bytes: ChannelName.maximumLength) ?? ""
        return Self(.subscriptionRefused, channelName: name, message, serverCode: value?["status"]?.integer)
    }

    static func timedOut(_ name: String, after wait: Duration, serverSaid words: ServerErrorMessage?) -> Self {
        let message = "the server did not answer the subscription to \(name) within \(wait)" + addition(words)
        return Self(.subscriptionTimedOut, channelName: name, message)
    }

    static func ownChannelTimedOut(_ name: String, after wait: Duration) -> Self {
        let message = """
            the server did not answer the subscription to the user's own channel within \(wait): events for the user \
            may not come; signIn() asks for it again
            """
        return Self(.subscriptionTimedOut, channelName: name, message)
    }

    static func invalidAuthorization(_ name: String, _ problem: Authorization.Problem) -> Self {
        Self(.invalidAuthorization, channelName: name, problem.words(of: name, data: "channel_data"))
    }

    /// There is no authorization but one of the app's, which was for an earlier connection.
    static func authorizationUsedUp(_ name: String, _ error: AuthorizationError) -> Self {
        var failure = Self(error, channelName: name)
        failure.message = """
            the PusherAuth that \(name) was subscribed with held for an earlier connection, and there is no \
            authMethod to make another: set one, or set the channel's auth and subscribe again
            """
        return failure
    }
}

extension AuthorizationError {
    static func timedOut(after wait: Duration) -> Self {
        Self(.timedOut, "no authorization came within \(wait)", recovery: .retry(after: .zero))
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

/// The server's error without a name, since a request that it did not answer in time.
private func addition(_ words: ServerErrorMessage?) -> String {
    guard let words else { return "" }
    let code = words.code.map { " (\($0))" } ?? ""
    return "; without saying of what, it said: \(words.message.quoted)\(code)"
}

extension Authorization.Problem {
    fileprivate func words(of owner: String, data: String) -> String {
        let its = "the authorization of \(owner)"
        let unusable = "\(its) cannot be used: "
        switch self {
        case .noAuth: return "\(unusable)its auth is empty"
        case .malformedAuth: return "\(unusable)its auth has not the form KEY:SIGNATURE"
        case .longAuth: return "\(unusable)its auth has more than \(ClientStateMachine.maximumAuthLength) bytes"
        case .longData: return "\(unusable)its \(data) has more than \(ClientStateMachine.maximumDataLength) bytes"
        case .noUserData: return "\(unusable)it has no user_data"
        case .userDataIsNoObject: return "\(unusable)its user_data is not the JSON text of an object"
        case .userDataHasNoID: return "\(unusable)its user_data has no id"
        case .noChannelData:
            let advice = "have the backend add it, or sign the user in before"
            return "\(its) has no channel_data, which says who subscribes: \(advice)"
        case .channelDataIsNoObject: return "the channel_data in \(its) is not the JSON text of an object"
        case .channelDataHasNoUserID: return "the channel_data in \(its) has no user_id that is a string or a number"
        case .noSharedSecret: return "\(its) has no shared_secret, which an encrypted channel needs"
        case .malformedSharedSecret: return "the shared_secret in \(its) is not the base64 of 32 bytes"
        }
    }
}

extension DecryptionStateMachine.Reason: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let text): text
        case .wrongKey: "the key does not fit, nor does the one that was asked for anew; or the event was changed"
        case .refreshFailed(let error): "the key does not fit, and could not be asked for anew: \(error.message)"
        case .tooManyRefreshes:
            "the key does not fit, and was asked for \(DecryptionStateMachine.maximumRefreshes) times in the last minute"
        case .tooManyHeld: "too many events wait for the channel's key"
        case .noKey(let error): "the channel's key could not be had: \(error.message)"
        }
    }
}

// MARK: The HTTP transports

extension PusherClientError {
    /// The code that the other end of a WebSocket would see: the connection was lost.
    private static func sessionLost(_ message: String) -> Self {
        Self(.connectionClosed, message, serverCode: CloseCode.abnormalClosure.rawValue)
    }

    static func notOpened(status: Int) -> Self {
        Self(.upgradeFailed, "no session could be opened over HTTP: the server answered with HTTP \(status)")
    }

    static func interrupted(status: Int) -> Self {
        sessionLost("the HTTP response that brings messages has ended (HTTP \(status))")
    }

    static func sendRefused(status: Int) -> Self {
        sessionLost("the server does not take messages any more: it answered a request with HTTP \(status)")
    }

    static func sendTimedOut(_ limit: Duration) -> Self {
        sessionLost("the server did not answer a request with messages within \(limit.components.seconds) s")
    }

    static func unstableStream(_ lives: Int) -> Self {
        sessionLost(
            "\(lives) connections by HTTP streaming were lost early: HTTP polling takes its place for 30 minutes"
        )
    }

    /// - Parameters:
    ///   - remembered: What is tried instead.
    ///   - failure: Why the last try failed.
    static func notTried(before remembered: PusherTransport, _ failure: Self) -> Self {
        var error = failure
        error.message = "\(remembered) carried the last connections, and is tried first; before, \(failure.message)"
        return error
    }

    /// No transport connects.
    ///
    /// - Parameter others: Those after the preferred one.
    static func noTransport(_ preferred: Self, others: [(PusherTransport, Self)]) -> Self {
        var error = preferred
        for (transport, other) in others { error.message += "; \(transport): \(other.message)" }
        return error
    }

    static func noConnection(over transport: PusherTransport, within wait: Duration) -> Self {
        let shown = Duration.milliseconds(Int64(wait / .milliseconds(1)))
        return Self(.connectionTimedOut, "there was no connection by \(transport) within \(shown)")
    }

    static let lostSession = sessionLost("the server has lost the HTTP session, and opened another one")
    static let cutFrame = sessionLost("the HTTP response that brings messages has ended in the middle of a frame")
    static let messageBeforeOpening = Self(
        .protocolViolation,
        "the server sent a message before it opened the HTTP session"
    )

    static func sendBufferFull(limit: Int) -> Self {
        Self(.sendBufferFull, "the server takes no messages: more than \(limit) bytes wait for it")
    }

    init(_ violation: HTTPFrameViolation) {
        switch violation {
        case .tooLong(let limit):
            self.init(.messageTooBig, "a message over HTTP is larger than the limit, \(limit) bytes")
        case .malformed(let kind):
            self.init(.protocolViolation, "the server sent a malformed frame over HTTP, of the kind '\(kind)'")
        case .invalidText: self.init(.invalidText, "the server sent a frame over HTTP that is not UTF-8")
        }
    }
}
