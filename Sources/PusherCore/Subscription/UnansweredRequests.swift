/// The requests that the server has not answered on this connection, and the errors that may be their answers.
///
/// Some servers refuse without saying what (Reverb: "Connection is unauthorized", for every channel). Such an error is
/// about one of the requests that were sent before it and had no answer then. Each answer that comes later clears one of
/// them. As soon as there are no more of them than errors, each is at fault.
struct UnansweredRequests: Hashable, Sendable {
    enum Request: Hashable, Sendable {
        case signIn
        /// The subscription to a channel, also to that of the user's own events.
        case channel(String)
    }

    /// A request that the server has refused, and its words.
    struct Fault {
        var request: Request
        var message: ServerErrorMessage
    }

    private struct NamelessError: Hashable, Sendable {
        /// The number of the last request that was sent before it.
        var lastNumber: UInt64
        /// How many of those before it, this one included, are still unanswered.
        var suspectCount: Int
        var message: ServerErrorMessage
    }

    /// More errors than this are not kept: their requests time out.
    private static let errorLimit = 1_000

    /// The last request of each kind, in the order in which they were sent.
    private var numbers: [Request: UInt64] = [:]
    /// Requests whose answer could not be told from another one's: they stay under suspicion for as long as the connection.
    private var untraceableCount = 0
    /// Oldest first. Of each there are more suspects than errors up to it.
    private var errors: [NamelessError] = []
    private var lastError: NamelessError?
    private(set) var lastNumber: UInt64 = 0

    var isEmpty: Bool { numbers.isEmpty }

    func number(of request: Request) -> UInt64? { numbers[request] }

    mutating func sent(_ request: Request) {
        lastNumber += 1
        // An answer that comes now may be that of the earlier one.
        if numbers.updateValue(lastNumber, forKey: request) != nil { untraceableCount += 1 }
    }

    /// Nobody wants the answer any more, nor asks whose an answer is.
    mutating func forget(_ request: Request) {
        if numbers.removeValue(forKey: request) != nil { untraceableCount += 1 }
    }

    /// The server has answered. What follows for others; nil where no answer was awaited.
    mutating func answered(_ request: Request) -> [Fault]? {
        guard let number = numbers.removeValue(forKey: request) else { return nil }
        // Thousands of subscriptions at once leave a large table, which is of no use after them.
        if numbers.isEmpty { numbers = [:] }
        for index in errors.indices where errors[index].lastNumber >= number { errors[index].suspectCount -= 1 }
        return takeFaults()
    }

    /// The server did not take these: they are sent again. Which of them an error may have been about cannot be said.
    mutating func repeated(_ requests: [Request]) {
        for request in requests { numbers[request] = nil }
        errors = []
    }

    /// An error that names nothing. What follows at once.
    ///
    /// - Parameter canRefuse: Whether it can be about one of the requests, and about nothing else.
    mutating func received(_ message: ServerErrorMessage, canRefuse: Bool) -> [Fault] {
        let suspectCount = numbers.count + untraceableCount
        let error = NamelessError(lastNumber: lastNumber, suspectCount: suspectCount, message: message)
        lastError = error
        guard canRefuse, suspectCount > 0, errors.count < Self.errorLimit else { return [] }
        errors.append(error)
        return takeFaults()
    }

    /// What the server last said without a name since the request was sent.
    func words(since request: Request) -> ServerErrorMessage? {
        guard let lastError, let number = numbers[request], number <= lastError.lastNumber else { return nil }
        return lastError.message
    }

    private mutating func takeFaults() -> [Fault] {
        guard let index = errors.indices.last(where: { errors[$0].suspectCount <= $0 + 1 }) else { return [] }
        let lastNumber = errors[index].lastNumber
        let suspects = numbers.filter { $0.value <= lastNumber }.sorted { $0.value < $1.value }.map(\.key)
        var messages = errors[...index].map(\.message)
        var faults: [Fault] = []
        for request in suspects {
            guard let match = messages.firstIndex(where: { $0.canRefuse(request) }) else { continue }
            faults.append(Fault(request: request, message: messages.remove(at: match)))
            numbers[request] = nil
        }
        let untraceable = errors[index].suspectCount - suspects.count
        untraceableCount -= untraceable
        errors.removeFirst(index + 1)
        for index in errors.indices { errors[index].suspectCount -= faults.count + untraceable }
        return faults
    }
}
