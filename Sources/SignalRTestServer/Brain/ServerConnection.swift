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
    /// The timer that ends a connection without a transport.
    var expiry: Scheduled<Void>?
    /// The timer that ends the connection when its authentication expires.
    var authentication: Scheduled<Void>?
    /// The timer that ends a connection without a handshake, or later, without messages of the client.
    var silence: Scheduled<Void>?
    /// The time of the last bytes of the client.
    var lastReceived = NIODeadline.now()
    /// The timer that acknowledges the client's messages.
    var acknowledgement: Scheduled<Void>?
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
    /// Whether the handlers of the beginning still run, so that calls wait.
    var isStarting = false
    /// The calls that wait for the handlers of the beginning.
    var callsBeforeStart: [(invocation: HubInvocation, isStream: Bool)] = []
    /// The calls that wait for the end of others.
    var waiting = CircularBuffer<() -> Void>()
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

    func cancelTimers() {
        for timer in [expiry, authentication, silence, acknowledgement] { timer?.cancel() }
        (expiry, authentication, silence, acknowledgement) = (nil, nil, nil, nil)
    }
}

/// The items of a stream that a client uploads.
typealias UploadBuffer = AsyncThrowingStream<EncodedValue, any Error>.Continuation
