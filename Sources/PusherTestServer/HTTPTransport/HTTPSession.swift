import NIOCore
import PusherProtocol
import RealtimeJSON

/// The session of a connection over HTTP. The session contains the waiting frames, and the request whose response
/// carries the frames.
struct HTTPSession: Sendable {
    /// An element of the session's queue.
    enum Item: Hashable, Sendable {
        case open(hostname: String?)
        case text(String)
        /// An empty frame, which answers the client's heartbeat. The answer is not a heartbeat, because pusher-js would
        /// answer a heartbeat with another heartbeat.
        case acknowledgement
        case heartbeat
        case close(code: Int, reason: String)
        /// Bytes outside of any frame.
        case bytes([UInt8])
        /// A line that an earlier response contained, and that did not reach the client.
        case line(Line)
        /// The end of the session without a close frame.
        case end
    }

    /// Bytes that reach the client together, or not at all.
    struct Line: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case open, frame, close
            /// A line that the server does not send again if the line has not reached the client.
            case filler
        }

        var kind = Kind.frame
        var bytes: [UInt8]
    }

    /// A receiving request, and its response.
    struct Receiver: Sendable {
        let request: RequestID
        let isStreaming: Bool
        var hasBegun = false
        /// Whether the response is complete, so that the server writes nothing more.
        var isFinished = false
        /// The written lines that have not reached the client yet, oldest first.
        var undelivered = CircularBuffer<Line>()
        /// The number of bytes that the front end has received, but the client has not.
        var bytesUnderWay = 0
        /// The bytes that the simulated proxy holds back.
        var held: [UInt8] = []

        /// The length of the response in UTF-16 units, as pusher-js counts it.
        var length = 0
        var isWaitingForMove = false
        var lastWrite = Duration.zero
        var heartbeatTimer: TimerID?
        var moveTimer: TimerID?
    }

    /// The path of the session's URLs, up to the session's name.
    let name: String
    /// The path up to the application's key.
    let applicationPath: String
    var receiver: Receiver?
    /// The previous receiver, whose lines may still reach the client. Until its response has ended, the server writes
    /// no frames to ``receiver``.
    var replaced: Receiver?
    var isStreaming: Bool
    /// Whether the open frame was queued.
    var hasOpened = false
    var isCloseDelivered = false
    /// Whether a ``ServerAction/flushSession(_:)`` is pending.
    var isFlushRequested = false
    /// The timer that runs while there is no receiver.
    var disconnectTimer: TimerID?

    private var queue = CircularBuffer<Item>()
    private(set) var queuedBytes = 0

    /// The length in bytes at which a line takes no further messages. The check ignores the JSON escapes of the next
    /// message. A line with a single message may be longer.
    static let maximumLineLength = 65_536

    init(name: String, applicationPath: String, isStreaming: Bool) {
        self.name = name
        self.applicationPath = applicationPath
        self.isStreaming = isStreaming
    }

    /// Removes lines that have reached the client.
    mutating func delivered(_ count: Int, of request: RequestID) {
        let isClose =
            replaced?.request == request ? replaced?.delivered(count) : receiver?.delivered(count)
        if isClose == true { isCloseDelivered = true }
    }

    // MARK: The queue

    var next: Item? { queue.first }

    /// The number of bytes that wait in the queue and in the simulated proxy.
    var waitingBytes: Int { queuedBytes + (receiver?.held.count ?? 0) }

    /// Whether the session has a response that is not complete.
    var canWrite: Bool { receiver?.isFinished == false }

    mutating func append(_ item: Item) {
        queuedBytes += item.size
        queue.append(item)
    }

    mutating func discardQueue() {
        queue.removeAll()
        queuedBytes = 0
    }

    /// Puts back lines that have not reached the client.
    mutating func requeue(_ lines: CircularBuffer<Line>) {
        for line in lines.reversed() where line.kind != .filler {
            let item = Item.line(line)
            queuedBytes += item.size
            queue.prepend(item)
        }
    }

    /// Removes the next line from the queue and returns it; nil if there is no line. Joins consecutive messages at the
    /// front of the queue in one line.
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
            let data = hostname.map { JSONWriter.object([("hostname", JSONWriter.string($0))]) } ?? ""
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
        Array("c[\(code),\(JSONWriter.string(reason))]\n".utf8)
    }
}

extension HTTPSession.Item {
    /// The size that counts toward the limit. The size is never 0, because a client can cause any number of items.
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

    /// Removes lines that have reached the client. Returns true if the removed lines contain a close frame.
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
        // The first byte of a character counts as one unit, or as two units if the character has four bytes.
        for byte in line.bytes where byte & 0xC0 != 0x80 { length += byte >= 0xF0 ? 2 : 1 }
    }

    /// Returns whether the server may write another line to the stream.
    func mayStream(window: Int) -> Bool { !isFinished && !isWaitingForMove && bytesUnderWay < window }
}
