import PusherProtocol

/// The requests that the server has not answered on this connection, and the errors that may be their answers.
///
/// Some servers refuse requests without naming a channel. For example, Reverb sends "Connection is unauthorized" for
/// every channel. Such an error concerns one of the earlier requests that are unanswered. Each later answer excludes
/// one of these requests. When only one request remains, this request has failed. If several errors can only concern
/// subscriptions, the client compares the number of errors with the number of remaining requests. If there are at least
/// as many errors, all remaining requests have failed.
struct UnansweredRequests: Hashable, Sendable {
    enum Request: Hashable, Sendable {
        case signIn
        /// The subscription to a channel, including the user's own channel.
        case channel(String)
        /// A request whose answer the client no longer needs, or cannot distinguish from the answer to a later try. A
        /// number identifies the request.
        case abandoned(UInt64)

        static func == (left: Self, right: Self) -> Bool {
            switch (left, right) {
            case (.signIn, .signIn): true
            case (.channel(let left), .channel(let right)): left.hasSameBytes(as: right)
            case (.abandoned(let left), .abandoned(let right)): left == right
            case (.signIn, _), (.channel, _), (.abandoned, _): false
            }
        }

        func hash(into hasher: inout Hasher) {
            switch self {
            case .signIn: break
            case .channel(let name): hasher.combine(WireText(name))
            case .abandoned(let number): hasher.combine(number)
            }
        }
    }

    /// A request that the server has refused, and the server's message.
    typealias Fault = (request: Request, message: ServerErrorMessage)

    struct Sent: Hashable, Sendable {
        var number: UInt64
        /// The time after which the client expects no answer. `nil` until the sender's timer has fired, because an
        /// answer may have come while the computer was suspended.
        var expiry: Instant?
    }

    struct UnnamedError: Hashable, Sendable {
        var time: Instant
        /// The number of the last request before the error.
        var lastNumber: UInt64
        /// The number of requests up to ``lastNumber`` that are still unanswered.
        var suspectCount: Int
        var message: ServerErrorMessage
    }

    /// The maximum number of errors. The client ignores further errors, so their requests time out.
    private static let errorLimit = 1_000

    private(set) var sent: [Request: Sent] = [:]
    /// The earliest expiry of all requests, or an earlier time.
    private var firstExpiry: Instant?
    /// Oldest first.
    private var errors: [UnnamedError] = []
    private(set) var lastError: UnnamedError? {
        get { boxedLastError?.value }
        set { boxedLastError = newValue.map { Box($0) } }
    }
    // Few connections have such an error, so the value is stored outside of the state.
    private var boxedLastError: Box<UnnamedError>?
    private var lastNumber: UInt64 = 0
    /// The number of the last request; `nil` if all requests are answered.
    var lastUnanswered: UInt64? { sent.isEmpty ? nil : lastNumber }

    /// - Parameter timeout: The sender's time limit for the answer.
    mutating func sent(_ request: Request, timeout: Duration, now: Instant) {
        removeOverdue(now: now)
        timedOut(request, timeout: timeout * 2, now: now)
        abandon(request)
        lastNumber += 1
        sent[request] = Sent(number: lastNumber)
    }

    /// Handles a request whose sender has stopped waiting. The answer may still arrive within the additional time
    /// `timeout`.
    mutating func timedOut(_ request: Request, timeout: Duration, now: Instant) {
        guard sent[request] != nil, sent[request]?.expiry == nil else { return }
        let expiry = now + timeout
        sent[request]?.expiry = expiry
        firstExpiry = min(firstExpiry ?? expiry, expiry)
    }

    /// Handles a request whose answer is no longer needed.
    mutating func abandon(_ request: Request) {
        if let old = sent.removeValue(forKey: request) { sent[.abandoned(old.number)] = old }
    }

    /// Handles the server's answer. Returns the failures of other requests, or nil if the client expected no answer.
    mutating func answered(_ request: Request) -> [Fault]? {
        guard let number = sent.removeValue(forKey: request)?.number else { return nil }
        // After thousands of subscriptions, the empty tables would still use much memory, so new tables replace them.
        if sent.isEmpty { (sent, errors) = ([:], []) }
        for index in errors.indices where errors[index].lastNumber >= number { errors[index].suspectCount -= 1 }
        return takeFaults()
    }

    /// Handles requests that the client sends again, because the server did not accept them. Earlier errors may concern
    /// any of these requests, so the method removes the errors.
    mutating func repeated(_ requests: [Request]) {
        for request in requests { sent[request] = nil }
        errors = []
    }

    /// Handles an error that names no request. Returns the requests that have failed.
    ///
    /// - Parameter isRefusal: Whether the error can only concern one of the requests.
    mutating func received(_ message: ServerErrorMessage, isRefusal: Bool, now: Instant) -> [Fault] {
        removeOverdue(now: now)
        let error = UnnamedError(time: now, lastNumber: lastNumber, suspectCount: sent.count, message: message)
        lastError = error
        guard isRefusal, !sent.isEmpty, errors.count < Self.errorLimit else { return [] }
        errors.append(error)
        return takeFaults()
    }

    /// Returns the last error that names no channel, if it arrived after the client had sent the request.
    func words(since request: Request) -> ServerErrorMessage? {
        guard let lastError, let number = sent[request]?.number, number <= lastError.lastNumber else { return nil }
        return lastError.message
    }

    private mutating func removeOverdue(now: Instant) {
        guard let firstExpiry, firstExpiry <= now else { return }
        let overdue = sent.filter { $0.value.expiry.map { $0 <= now } ?? false }
        for request in overdue.keys { sent[request] = nil }
        // An error may concern an expired request instead of another request, so remove the error.
        if let first = overdue.values.map(\.number).min() { errors.removeAll { $0.lastNumber >= first } }
        self.firstExpiry = sent.values.compactMap(\.expiry).min()
    }

    private mutating func takeFaults() -> [Fault] {
        // Each error 4009 concerns one subscription.
        var certainCount = 0
        let isSettled = errors.map { error in
            if error.message.isUnauthorized { certainCount += 1 }
            return error.suspectCount <= max(certainCount, 1)
        }
        guard let index = isSettled.lastIndex(of: true) else { return [] }
        let lastNumber = errors[index].lastNumber
        var messages = errors[...index].map(\.message)
        errors.removeFirst(index + 1)
        let suspects = sent.filter { $0.value.number <= lastNumber }.sorted { $0.value.number < $1.value.number }
        let faults: [Fault] = suspects.map(\.key).compactMap { request in
            guard let match = messages.firstIndex(where: { $0.canRefuse(request) }) else { return nil }
            sent[request] = nil
            return (request, messages.remove(at: match))
        }
        for index in errors.indices { errors[index].suspectCount -= faults.count }
        return faults
    }
}
