/// The requests that the server has not answered on this connection, and the errors that may be their answers.
///
/// Some servers refuse without naming a channel (Reverb: "Connection is unauthorized", for every channel). Such an
/// error is about one of the requests that were sent before it and had no answer. Each later answer clears one of them.
/// The last one left has failed. Errors that can only be about subscriptions are also settled together. If no more
/// requests are left than there were errors, all of them have failed.
struct UnansweredRequests: Hashable, Sendable {
    enum Request: Hashable, Sendable {
        case signIn
        /// The subscription to a channel, including the channel of the user's own events.
        case channel(String)
        /// A request whose answer is no longer needed, or may be confused with the answer to a later try. It has a
        /// number.
        case abandoned(UInt64)
    }

    /// A request that the server has refused, and the server's message.
    typealias Fault = (request: Request, message: ServerErrorMessage)

    struct Sent: Hashable, Sendable {
        var number: UInt64
        /// After this time no answer is expected. `nil` until the sender's timer has fired, because an answer may have
        /// come while the computer was suspended.
        var expiry: Instant?
    }

    struct UnnamedError: Hashable, Sendable {
        var time: Instant
        /// The number of the last request before the error.
        var lastNumber: UInt64
        /// How many of the requests up to this one are still unanswered.
        var suspectCount: Int
        var message: ServerErrorMessage
    }

    /// More errors than this are not kept: their requests time out.
    private static let errorLimit = 1_000

    private(set) var sent: [Request: Sent] = [:]
    /// No request has an earlier expiry.
    private var firstExpiry: Instant?
    /// Oldest first.
    private var errors: [UnnamedError] = []
    private(set) var lastError: UnnamedError?
    private var lastNumber: UInt64 = 0
    /// The number of the last request; `nil` if none is unanswered.
    var lastUnanswered: UInt64? { sent.isEmpty ? nil : lastNumber }

    /// - Parameter timeout: How long the sender waits for the answer.
    mutating func sent(_ request: Request, timeout: Duration, now: Instant) {
        removeOverdue(now: now)
        timedOut(request, timeout: timeout * 2, now: now)
        abandon(request)
        lastNumber += 1
        sent[request] = Sent(number: lastNumber)
    }

    /// The sender has stopped waiting. The answer may still come within the same time again.
    mutating func timedOut(_ request: Request, timeout: Duration, now: Instant) {
        guard sent[request] != nil, sent[request]?.expiry == nil else { return }
        let expiry = now + timeout
        sent[request]?.expiry = expiry
        firstExpiry = min(firstExpiry ?? expiry, expiry)
    }

    /// Handles that the answer is no longer needed.
    mutating func abandon(_ request: Request) {
        if let old = sent.removeValue(forKey: request) { sent[.abandoned(old.number)] = old }
    }

    /// Handles the server's answer. Returns the consequences for other requests; nil if no answer was expected.
    mutating func answered(_ request: Request) -> [Fault]? {
        guard let number = sent.removeValue(forKey: request)?.number else { return nil }
        // Thousands of subscriptions at once leave a large table, which is not needed afterwards.
        if sent.isEmpty { (sent, errors) = ([:], []) }
        for index in errors.indices where errors[index].lastNumber >= number { errors[index].suspectCount -= 1 }
        return takeFaults()
    }

    /// Handles that the server did not accept these requests, and that they are sent again. It is unknown which of them
    /// an earlier error was about.
    mutating func repeated(_ requests: [Request]) {
        for request in requests { sent[request] = nil }
        errors = []
    }

    /// Handles an error that names nothing. Returns the immediate consequences.
    ///
    /// - Parameter isRefusal: Whether it can only be about one of the requests.
    mutating func received(_ message: ServerErrorMessage, isRefusal: Bool, now: Instant) -> [Fault] {
        removeOverdue(now: now)
        let error = UnnamedError(time: now, lastNumber: lastNumber, suspectCount: sent.count, message: message)
        lastError = error
        guard isRefusal, !sent.isEmpty, errors.count < Self.errorLimit else { return [] }
        errors.append(error)
        return takeFaults()
    }

    /// The last error without a name since the request was sent.
    func words(since request: Request) -> ServerErrorMessage? {
        guard let lastError, let number = sent[request]?.number, number <= lastError.lastNumber else { return nil }
        return lastError.message
    }

    private mutating func removeOverdue(now: Instant) {
        guard let firstExpiry, firstExpiry <= now else { return }
        let overdue = sent.filter { $0.value.expiry.map { $0 <= now } ?? false }
        for request in overdue.keys { sent[request] = nil }
        // An error that may have been about one of them does not affect the others.
        if let first = overdue.values.map(\.number).min() { errors.removeAll { $0.lastNumber >= first } }
        self.firstExpiry = sent.values.compactMap(\.expiry).min()
    }

    private mutating func takeFaults() -> [Fault] {
        // Each 4009 is about one subscription, so as many requests may have failed.
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
