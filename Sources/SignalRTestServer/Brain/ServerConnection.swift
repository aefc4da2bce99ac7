import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// The server's side of a connection. Use the connection only on the event loop.
final class ServerConnection {
    let id: String
    let token: String
    var headers: [String: String]
    /// The transport to the client; `nil` while the client has no transport.
    var link: (any ServerLink)?
    /// The timer that ends a resumable connection without a transport.
    var expiry: Scheduled<Void>?
    /// The timer that ends the connection when its authentication expires.
    var authentication: Scheduled<Void>?
    /// The messages that the server sent before the first transport was open.
    var early: [[UInt8]] = []
    var earlySize = 0
    var coder: HubCoder?
    var reader = HubFrameReader(limit: 64 << 20)
    var isHandshakeDone = false
    var isEnded = false
    /// Whether the server was silent and ignored messages of this transport.
    var hasMissedMessages = false
    /// The state for resuming the connection, after a handshake of version 2.
    var resumption: Resumption?
    /// The running methods, by the ids of their calls.
    var running: [String: Task<Void, Never>] = [:]
    var uploads: [String: UploadBuffer] = [:]
    var clientCalls: [String: CheckedContinuation<HubOutcome, any Error>] = [:]
    var clientCallCount = 0
    /// The queue that runs the methods of the test one after the other.
    let queue = SerialQueue(limit: .max)

    init(id: String, token: String, headers: [String: String]) {
        self.id = id
        self.token = token
        self.headers = headers
    }
}

/// The items of a stream that a client uploads.
typealias UploadBuffer = AsyncThrowingStream<EncodedValue, any Error>.Continuation
