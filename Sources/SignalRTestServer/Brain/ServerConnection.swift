import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// The server's side of a connection. Use the connection only on the event loop.
final class ServerConnection {
    /// The faults of one connection, or of all.
    struct Faults {
        /// The size of the pieces in which the server sends bytes; `nil` for whole messages.
        var pieceSize: Int?
        /// The number of messages that the server sends together; `nil` for one.
        var joinedMessages: Int?
        /// Whether the server sends nothing, and ignores everything that arrives.
        var isSilent = false
    }

    /// The purpose of a timer. A connection has at most one timer for each.
    enum TimerPurpose: Hashable {
        /// Ends a connection without a transport, or one whose client does not poll again.
        case transport
        /// Ends the connection when its authentication expires.
        case authentication
        /// Ends a connection without a handshake, or later, without messages of the client.
        case message
        /// Answers a poll without messages.
        case poll
        /// Acknowledges the client's messages.
        case acknowledgement
        /// Sends the messages that wait for others.
        case join
        /// Closes the connection.
        case close
    }

    struct Timer {
        /// The number of the timer, so that one that was replaced while it fired does nothing.
        var number: UInt64
        var task: Scheduled<Void>
        /// Whether the time is over, and the closure waits for the end of the server's silence.
        var isDue = false
        var body: @Sendable (HubBrain, ServerConnection) -> Void
    }

    /// A call that runs in a task.
    struct Running {
        var id: String?
        var task: Task<Void, Never>
        /// Whether the call is one of those that ``TestHubOptions/maximumParallelCalls`` limits.
        var isCounted: Bool
    }

    let id: String
    let token: String
    var headers: [String: String]
    let query: [String: String]
    var userID: String?
    /// Whether the negotiation allows the client to resume the connection.
    let mayResume: Bool
    /// The transport to the client; `nil` while the client has no transport.
    var link: (any ServerLink)?
    var timers: [TimerPurpose: Timer] = [:]
    var timerCount: UInt64 = 0
    /// The time of the last bytes of the client.
    var lastReceived = NIODeadline.now()
    /// The messages that the server sent before the first transport was open.
    var early: [[UInt8]] = []
    var earlySize = 0
    /// The messages that the server will send together.
    var joined: [[UInt8]] = []
    var faults = Faults()
    var coder: HubCoder?
    var reader: HubFrameReader
    var isHandshakeDone = false
    /// Whether the server has sent its last message, or the client its last.
    var isEnded = false
    /// The error for the handlers of the end.
    var error: String?
    /// Whether the server was silent and ignored messages of this transport.
    var hasMissedMessages = false
    /// The state for resuming the connection, after a handshake of version 2.
    var resumption: Resumption?
    /// The size of the messages that wait for acknowledgements of earlier ones.
    var heldSize = 0
    /// The task of the handlers that were started last. Handlers of the same connection run one after the other.
    var handlers: Task<Void, Never>?
    /// Whether the handlers of the beginning still run, so that the messages of calls wait.
    var isStarting = false
    /// The messages that wait for the handlers of the beginning, and their size.
    var beforeStart: (messages: [HubMessage], size: Int) = ([], 0)
    /// The calls that wait for the end of others. A call that the client has cancelled starts with a cancelled task.
    var waiting = CircularBuffer<(id: String?, size: Int, isCancelled: Bool, start: (_ isCancelled: Bool) -> Void)>()
    /// The size of their arguments.
    var waitingSize = 0
    /// The running calls, by their numbers.
    var running: [UInt64: Running] = [:]
    var callCount: UInt64 = 0
    var uploads: [String: UploadBuffer] = [:]
    var clientCalls: [String: CheckedContinuation<HubOutcome, any Error>] = [:]
    var clientCallCount = 0

    init(
        id: String,
        token: String,
        headers: [String: String],
        query: [String: String] = [:],
        mayResume: Bool = false,
        maximumMessageSize: Int = .max
    ) {
        self.id = id
        self.token = token
        self.headers = headers
        self.query = query
        self.mayResume = mayResume
        reader = HubFrameReader(limit: maximumMessageSize)
    }

    func isRunning(_ id: String) -> Bool { running.values.contains { $0.id == id } }

    func stopTimer(_ purpose: TimerPurpose) { timers.removeValue(forKey: purpose)?.task.cancel() }

    func stopTimers() { for purpose in timers.keys { stopTimer(purpose) } }
}

/// The items of a stream that a client uploads.
struct UploadBuffer: Sendable {
    private let stream: AsyncThrowingStream<EncodedValue, any Error>
    private let continuation: AsyncThrowingStream<EncodedValue, any Error>.Continuation
    /// The size of the items that wait for the method.
    private let size = NIOLockedValueBox(0)

    init() { (stream, continuation) = AsyncThrowingStream.makeStream() }

    /// Adds an item, and returns the size of the items that wait.
    func add(_ item: EncodedValue) -> Int {
        let size = size.withLockedValue { size in
            size += item.count
            return size
        }
        continuation.yield(item)
        return size
    }

    func finish(throwing error: (any Error)? = nil) { continuation.finish(throwing: error) }

    var items: some AsyncSequence<EncodedValue, any Error> & Sendable {
        stream.map { [size] item in
            size.withLockedValue { $0 -= item.count }
            return item
        }
    }
}
