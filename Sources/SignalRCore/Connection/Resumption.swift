/// The state for continuing a connection after the loss of its transport.
///
/// Each side numbers the messages that it sends, and keeps them until the other side has acknowledged them.
package struct Resumption: Sendable {
    package enum Link: Hashable, Sendable {
        case up
        /// The transport was lost at time `since`. The client has made `tries` attempts to open another transport.
        case down(since: Duration, tries: Int)
        /// A new transport is open, but the server's Sequence message has not arrived yet.
        case synchronizing(since: Duration, tries: Int)
    }

    package struct Sent: Sendable {
        package var number: UInt64
        package var bytes: [UInt8]
    }

    package struct Held: Sendable {
        package var bytes: [UInt8]
        package var receipt: WaiterID?
    }

    /// The maximum limit of unacknowledged bytes, and the maximum number of bytes that wait for space.
    package static let maximumBufferSize = 16 << 20

    /// The number of bytes after which the client acknowledges at once. ASP.NET Core keeps at most 100,000 bytes by
    /// default, and sends nothing more until then.
    package static let acknowledgementSize = 32_768

    /// The limit of unacknowledged bytes. Above this limit, messages wait until the server has acknowledged earlier
    /// messages.
    let limit: Int
    package var link = Link.up
    package private(set) var sentCount: UInt64 = 0
    package private(set) var unacknowledged: [Sent] = []
    package private(set) var bufferedBytes = 0
    /// The messages that wait because the buffer is full.
    package private(set) var held: ArraySlice<Held> = []
    private var heldBytes = 0
    private var next: UInt64 = 1
    package private(set) var latest: UInt64 = 0
    /// The number of bytes of new messages since the last acknowledgement.
    private var unansweredBytes = 0

    /// - Parameter limit: The limit. Above ``maximumBufferSize``, a new transport might refuse the buffer, because the
    ///   client sends the whole buffer at once.
    package init(limit: Int) { self.limit = min(limit, Self.maximumBufferSize) }

    private var isFull: Bool { bufferedBytes >= limit }

    /// Whether a new message must wait, because the buffer is full or earlier messages wait.
    package var mustWait: Bool { isFull || !held.isEmpty }

    /// Keeps a message until the buffer has space. Returns whether there is space for another message that waits.
    package mutating func hold(_ bytes: [UInt8], _ receipt: WaiterID?) -> Bool {
        held.append(Held(bytes: bytes, receipt: receipt))
        heldBytes += bytes.count
        return heldBytes <= Self.maximumBufferSize
    }

    /// Returns the message that has waited longest, if the buffer has space.
    package mutating func takeHeld() -> Held? {
        guard !isFull, let first = held.popFirst() else { return nil }
        heldBytes -= first.bytes.count
        // An empty slice keeps its former elements in memory.
        if held.isEmpty { held = [] }
        return first
    }

    package mutating func sent(_ bytes: [UInt8]) {
        sentCount += 1
        unacknowledged.append(Sent(number: sentCount, bytes: bytes))
        bufferedBytes += bytes.count
    }

    package mutating func acknowledged(_ number: UInt64) {
        let count = unacknowledged.prefix { $0.number <= number }.count
        bufferedBytes -= unacknowledged.prefix(count).reduce(0) { $0 + $1.bytes.count }
        unacknowledged.removeFirst(count)
    }

    /// The number of the first message to send over a new transport.
    package var firstToSend: UInt64 { unacknowledged.first?.number ?? sentCount + 1 }

    /// When the client has to acknowledge a message of the server.
    package enum Acknowledgement: Hashable, Sendable {
        case never
        /// Together with later messages.
        case soon
        case atOnce
    }

    /// Counts a numbered message of the server.
    ///
    /// - Returns: Whether the message is new, and when the client has to acknowledge it.
    package mutating func received(size: Int) -> (isNew: Bool, acknowledgement: Acknowledgement) {
        let number = next
        next += 1
        guard number > latest else {
            // The server repeats only messages whose acknowledgement was lost.
            return (false, number == latest ? .soon : .never)
        }
        latest = number
        unansweredBytes += size
        return (true, unansweredBytes >= Self.acknowledgementSize ? .atOnce : .soon)
    }

    /// Returns the number of the last message, which the client acknowledges now; `nil` if there was none.
    package mutating func acknowledge() -> UInt64? {
        unansweredBytes = 0
        return latest == 0 ? nil : latest
    }

    /// Handles the number of the server's next message. Returns `false` if the server cannot have reached this number
    /// yet.
    package mutating func synchronize(_ number: UInt64) -> Bool {
        // The server does not repeat acknowledged messages. So its next number can be up to `latest + 1`, even if
        // `next` is lower after an incomplete replay.
        guard number <= max(next, latest + 1) else { return false }
        next = number
        return true
    }
}
