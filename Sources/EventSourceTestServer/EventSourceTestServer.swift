import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimePrimitives
import RealtimeTestHTTP

/// An HTTP server on loopback for tests. Your test determines the answers, such as event streams and faults.
///
/// ```swift
/// try await EventSourceTestServer.withServer { server in
///     server.script([TestResponse(steps: [.send("id: 1\ndata: a\n\n"), .reset]), .open("data: b\n\n")])
///     let app = App(feed: server.url)
///     …
///     #expect(server.requests[1].header("Last-Event-ID") == "1")
/// }
/// ```
public final class EventSourceTestServer: Sendable {
    /// A closure that answers one request.
    public typealias Responder = @Sendable (TestExchange) async throws -> Void

    /// The server's certificate and private key, in PEM form.
    public struct Certificate: Hashable, Sendable {
        /// The certificate, followed by all certificates between it and the root.
        public var certificateChain: String
        /// The private key, not encrypted.
        public var privateKey: String

        /// Creates a certificate.
        public init(certificateChain: String, privateKey: String) {
            self.certificateChain = certificateChain
            self.privateKey = privateKey
        }
    }

    /// A task that waits until the server has received a number of requests.
    fileprivate struct Waiting {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    fileprivate struct State {
        var responders: [String: Responder] = [:]
        var requests: [TestRequest] = []
        var waiting: [Int: Waiting] = [:]
        var waitingCount = 0
        var isStopped = false
    }

    /// The port that the server listens on.
    public let port: Int
    private let listener: Listener
    private let usesTLS: Bool
    private let state: NIOLockedValueBox<State>

    private init(_ listener: Listener, usesTLS: Bool, _ state: NIOLockedValueBox<State>) {
        self.listener = listener
        self.usesTLS = usesTLS
        self.state = state
        port = listener.port
    }

    /// Starts a server on 127.0.0.1. Call ``shutdown()`` at the end of the test.
    ///
    /// - Parameters:
    ///   - port: The port; 0 for any free port. Default: 0.
    ///   - certificate: The certificate for TLS. Default: none. Without a certificate, the server speaks HTTP without
    ///     TLS.
    public static func start(port: Int = 0, certificate: Certificate? = nil) async throws -> EventSourceTestServer {
        let state = NIOLockedValueBox(State())
        let tls = try certificate.map {
            try HTTPTestCertificate(chain: $0.certificateChain, privateKey: $0.privateKey).context()
        }
        let service = EventSourceService { request, exchange in state.respond(to: request, exchange) }
        let group = MultiThreadedEventLoopGroup.singleton
        let listener = Listener(
            eventLoop: group.next(),
            connectionGroup: group,
            host: "127.0.0.1",
            port: port,
            bindFailure: { _, _, error in error },
            makePreparation: {
                { try HTTPRequestHandler.addHandlers(to: $0.pipeline.syncOperations, service: service, tls: tls) }
            }
        )
        try await listener.start()
        return EventSourceTestServer(listener, usesTLS: tls != nil, state)
    }

    /// Runs a server while `body` runs.
    public static func withServer<Result>(
        certificate: Certificate? = nil,
        _ body: (EventSourceTestServer) async throws -> Result
    ) async throws -> Result {
        let server = try await start(certificate: certificate)
        do {
            let result = try await body(server)
            await server.shutdown()
            return result
        } catch {
            await server.shutdown()
            throw error
        }
    }

    /// The server's address, without a path.
    public var url: String { usesTLS ? "https://localhost:\(port)" : "http://127.0.0.1:\(port)" }

    /// The requests that the server has received, in order.
    public var requests: [TestRequest] { state.withLockedValue { $0.requests } }

    /// Deletes the recorded requests. Afterwards, the server counts requests from zero.
    public func forgetRequests() { state.withLockedValue { $0.requests = [] } }

    /// The number of open connections.
    public var connectionCount: Int { listener.channels.count }

    /// Answers the first request for a path with the first response, and so on. The server repeats the last response.
    /// If the array is empty, the server does not answer.
    public func script(_ responses: [TestResponse], at path: String = "/") {
        respond(at: path) { exchange in
            guard let last = responses.last else { return }
            let index = exchange.number - 1
            try await exchange.play(responses.indices.contains(index) ? responses[index] : last)
        }
    }

    /// Answers requests for a path with a closure. If the closure throws, the server closes the connection. The server
    /// answers with status 404 if a path has no closure.
    public func respond(at path: String = "/", _ responder: @escaping Responder) {
        state.withLockedValue { $0.responders[path] = responder }
    }

    /// Waits until the server has received `count` requests. Returns early if the task is cancelled or the server
    /// shuts down.
    public func waitForRequests(count: Int = 1) async {
        let id = state.withLockedValue { state in
            state.waitingCount += 1
            return state.waitingCount
        }
        await withCancellationHandler {
            await withCheckedContinuation { continuation in
                let isOver = state.withLockedValue { state in
                    if state.requests.count >= count || state.isStopped || Task.isCancelled { return true }
                    state.waiting[id] = Waiting(count: count, continuation: continuation)
                    return false
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            state.withLockedValue { $0.waiting.removeValue(forKey: id) }?.continuation.resume()
        }
    }

    /// Drops all connections. The server still accepts new connections.
    public func dropConnections() {
        for channel in listener.channels { channel.eventLoop.execute { channel.endTransport() } }
    }

    /// Stops listening, and closes all connections.
    public func shutdown() async {
        // Most closures refer to the server, so the server must release them. Otherwise, neither would be freed.
        let (waiting, responders) = state.withLockedValue { state in
            defer { (state.isStopped, state.responders, state.waiting) = (true, [:], [:]) }
            return (state.waiting.values, state.responders)
        }
        // Release the closures outside the lock, because they may own objects that call the server.
        withExtendedLifetime(responders) {}
        for task in waiting { task.continuation.resume() }
        await listener.shutdown()
    }
}

extension NIOLockedValueBox<EventSourceTestServer.State> {
    fileprivate func respond(to request: TestRequest, _ answer: HTTPTestExchange) {
        let (responder, number, waiting) = withLockedValue { state in
            state.requests.append(request)
            let count = state.requests.count
            let waiting = state.waiting.filter { $0.value.count <= count }
            for id in waiting.keys { state.waiting[id] = nil }
            let number = state.requests.count { $0.path == request.path }
            return (state.responders[request.path], number, waiting)
        }
        for task in waiting.values { task.continuation.resume() }
        let exchange = TestExchange(request, number: number, answer)
        Task {
            do {
                if let responder {
                    try await responder(exchange)
                } else {
                    try await exchange.play(TestResponse(status: 404))
                }
            } catch {
                answer.drop()
            }
        }
    }
}

extension EventSourceTestServer.Certificate: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The size of the certificate, without the private key.
    public var description: String { "Certificate(certificateChain: \(certificateChain.utf8.count) bytes)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` does not show the private key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
