import NIOCore
import PusherProtocol

/// The session of a connection over HTTP: the frames that wait for the client, and the request whose response carries
/// them.
struct HTTPSession: Sendable {
    /// The items to send, in order.
    enum Item: Hashable, Sendable {
        case open(hostname: String?)
        case text(String)
        /// The answer to the client's heartbeat. It is not a heartbeat, which pusher-js would answer again.
        case acknowledgement
        case heartbeat
        case close(code: Int, reason: String)
        /// Bytes outside of any frame.
        case bytes([UInt8])
        /// A line from another response, which did not reach the client.
        case line(Line)
        /// The end of the session without a close frame.
        case end
    }

    /// Bytes that reach the client together, or not at all.
    struct Line: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case open, frame, close
            /// Not sent again.
            case filler
        }

        var kind = Kind.frame
        var bytes: [UInt8]
    }

    /// A request that waits for frames, or is being answered.
    struct Receiver: Sendable {
        let request: RequestID
        let isStreaming: Bool
        var hasBegun = false
        /// The response is complete, and nothing more is written.
        var isFinished = false
        /// Lines that were written, and have not reached the client yet. Oldest first.
        var undelivered = CircularBuffer<Line>()
        /// The number of their bytes that the front end has.
        var bytesUnderWay = 0
        /// Bytes that a proxy holds back.
        var held: [UInt8] = []

        /// The length of the response. Clients count bytes, or UTF-16 units as browsers do.
        var length = (bytes: 0, units: 0)
        /// The lengths at which the client had enough time to move.
        var hasPassedLimit = (bytes: false, units: false)
        var isWaitingForMove = false
        var lastWrite = Duration.zero
        var heartbeatTimer: TimerID?
        var moveTimer: TimerID?
    }

    /// The path up to its name.
    let name: String
    /// The path up to the application's key.
    let applicationPath: String
    var receiver: Receiver?
    var isStreaming: Bool
    /// Whether an open frame was queued.
    var hasOpened = false
    var isCloseDelivered = false
    /// Whether a ``ServerAction/flushSession(_:)`` is pending.
    var isFlushRequested = false
    /// It runs while there is no receiver.
    var disconnectTimer: TimerID?

    private var queue = CircularBuffer<Item>()
    private(set) var queuedBytes = 0

    /// The most bytes of texts in one line, unless a single text is longer.
    static let maximumLineLength = 65_536

    init(name: String, applicationPath: String, isStreaming: Bool) {
        self.name = name
        self.applicationPath = applicationPath
        self.isStreaming = isStreaming
    }

    // MARK: The queue

    var next: Item? { queue.first }

    /// How many bytes wait here and at a proxy.
    var waitingBytes: Int { queuedBytes + (receiver?.held.count ?? 0) }

    /// Whether there is a response that can be written to.
    var canWrite: Bool { receiver?.isFinished == false }

    mutating func append(_ item: Item) {
        queuedBytes += item.size
        queue.append(item)
    }

    mutating func discardQueue() {
        queue.removeAll()
        queuedBytes = 0
    }

    /// Queues lines again that have not reached the client.
    mutating func requeue(_ lines: CircularBuffer<Line>) {
        for line in lines.reversed() where line.kind != .filler {
            let item = Item.line(line)
            queuedBytes += item.size
            queue.prepend(item)
        }
    }

    /// The next line, with the texts at the front together. Nil if there is none.
    mutating func takeLine() -> Line? {
        guard let first = queue.first else { return nil }
        switch first {
        case .text: return takeTexts()
        case .end: return nil
        case .line(let line):
            dropFirst()
            return line
        case .open(let hostname):
            dropFirst()
            let data = hostname.map { JSONText.object([("hostname", JSONText.string($0))]) } ?? ""
            return Line(kind: .open, bytes: Array("o\(data)\n".utf8))
        case .acknowledgement:
            dropFirst()
            return Line(bytes: Array("a[]\n".utf8))
        case .heartbeat:
            dropFirst()
            return Line(kind: .filler, bytes: Array("h\n".utf8))
        case .close(let code, let reason):
            dropFirst()
            return Line(kind: .close, bytes: Self.closeLine(code: code, reason: reason))
        case .bytes(let bytes):
            dropFirst()
            return Line(bytes: bytes)
        }
    }

    private mutating func takeTexts() -> Line {
        var writer = JSONWriter(minimumCapacity: min(queuedBytes, Self.maximumLineLength) + 64)
        writer.write(raw: "a[")
        var isFirst = true
        while case .text(let text)? = queue.first {
            guard isFirst || writer.text.utf8.count + text.utf8.count < Self.maximumLineLength else { break }
            if !isFirst { writer.write(raw: ",") }
            isFirst = false
            writer.write(string: text)
            dropFirst()
        }
        writer.write(raw: "]\n")
        return Line(bytes: Array(writer.text.utf8))
    }

    private mutating func dropFirst() {
        if let first = queue.popFirst() { queuedBytes -= first.size }
    }

    static func closeLine(code: Int, reason: String) -> [UInt8] {
        Array("c[\(code),\(JSONText.string(reason))]\n".utf8)
    }
}

extension HTTPSession.Item {
    /// Every item has a size, because a client could have it repeated without limit.
    fileprivate var size: Int {
        switch self {
        case .text(let text): text.utf8.count + 4
        case .bytes(let bytes): bytes.count + 4
        case .line(let line): line.bytes.count
        case .open, .acknowledgement, .heartbeat, .close, .end: 4
        }
    }
}

extension HTTPSession.Receiver {
    init(_ request: RequestID, isStreaming: Bool) {
        self.request = request
        self.isStreaming = isStreaming
    }

    /// Notes that this many bytes have reached the client. Returns true if a close frame was among them.
    mutating func delivered(_ count: Int) -> Bool {
        bytesUnderWay -= count
        var rest = count
        var isClose = false
        while let line = undelivered.first, line.bytes.count <= rest {
            rest -= line.bytes.count
            undelivered.removeFirst()
            if line.kind == .close { isClose = true }
        }
        return isClose
    }

    mutating func note(_ line: HTTPSession.Line) {
        undelivered.append(line)
        length.bytes += line.bytes.count
        // A byte that begins a character counts as one unit, or two for a character of four bytes.
        for byte in line.bytes where byte & 0xC0 != 0x80 { length.units += byte >= 0xF0 ? 2 : 1 }
    }

    /// Whether another line may be written to the stream.
    func mayStream(window: Int) -> Bool { !isFinished && !isWaitingForMove && bytesUnderWay < window }

    /// Whether the client should move now, because the response is long enough.
    func mustWaitForMove(limit: Int) -> Bool {
        length.bytes > limit && !hasPassedLimit.bytes || length.units > limit && !hasPassedLimit.units
    }

    /// Notes that the client has not moved, because it counts differently or not at all.
    mutating func passLimit(_ limit: Int) {
        if length.bytes > limit { hasPassedLimit.bytes = true }
        if length.units > limit { hasPassedLimit.units = true }
        isWaitingForMove = false
    }
}
