/// The messages in transit in one direction, in memory.
struct Direction<Message: Sendable>: Sendable {
    var queue = DelayedQueue<Message>()
    private var lastID = 0

    mutating func append(_ message: Message) -> Int {
        lastID += 1
        queue.append(message, id: lastID)
        return lastID
    }
}
