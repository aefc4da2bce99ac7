import EventStreamTestSupport
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import ServerSentEvents
import SocketTestSupport
import TestSupport
import Testing
import WebSocketClient

/// The state of a client, in words that all clients have.
enum ContractState: Hashable, Sendable {
    case idle
    case connecting(attempt: Int)
    case open
    case waiting(until: ContinuousClock.Instant, attempt: Int, reason: ContractError)
    /// The app has closed the client, and the server has not answered yet. Not all clients have this state.
    case closing
    case closed(ContractError?)
}

/// The members that the errors of all clients have.
struct ContractError: Error, Hashable, Sendable {
    var code: String
    var message: String
    var address: String?
    var description: String
    var localizedDescription: String

    init(_ error: WebSocketError) {
        (code, message, address) = (error.code.rawValue, error.message, error.address)
        (description, localizedDescription) = ("\(error)", error.localizedDescription)
    }

    init(_ error: EventStreamError) {
        (code, message, address) = (error.code.rawValue, error.message, error.address)
        (description, localizedDescription) = ("\(error)", error.localizedDescription)
    }
}

extension ContractError {
    init?(any error: any Error) {
        switch error {
        case let error as WebSocketError: self.init(error)
        case let error as EventStreamError: self.init(error)
        default: return nil
        }
    }
}

/// A client of an app together with its server, in virtual time. To subject another client to the contract, add a type
/// with this protocol, and a case of ``Contract``.
protocol ContractClient: AnyObject, Sendable {
    /// Creates a client that has not connected. An attempt may take 15 seconds, and a connection of 10 seconds resets the
    /// number of retries.
    init(_ policy: any RetryPolicy)

    // The app.
    func connect()
    /// Waits until the client is open.
    func connected(timeout: Duration?) async throws
    func close()
    /// Closes the client, and waits until it is closed.
    func closed(timeout: Duration?) async throws
    var state: ContractState { get }
    var states: AsyncStream<ContractState> { get }
    /// Releases all that the app has of the client.
    func release() async

    // The server.
    /// The number of attempts of the client.
    var attemptCount: Int { get }
    /// Accepts the current attempt.
    func accept() async throws
    /// Answers the current attempt in a way that allows another attempt.
    func refuse() async throws
    /// Answers the current attempt with status 503 and this field.
    func refuse(retryAfter: String) async throws
    /// Drops the open connection.
    func drop() async throws
    /// Whether the client has closed the current connection or given up the current attempt.
    var isDropped: Bool { get async throws }

    // The world.
    var now: ContinuousClock.Instant { get }
    func advance(by duration: Duration) async
    /// Suspends the computer. The clock continues, and the timers of the event loop stop.
    func suspend(for duration: Duration)
}

extension ContractClient {
    /// Waits for an attempt, and accepts it.
    func open(attempt: Int = 1) async throws {
        await waitForAttempt(attempt)
        try await accept()
        await wait { $0 == .open }
    }

    /// Lets the wait before an attempt pass.
    func retry(_ attempt: Int, after delay: Duration) async {
        await waitForWait(before: attempt)
        await advance(by: delay)
        await waitForAttempt(attempt)
    }

    /// Waits for a state.
    @discardableResult
    func wait(_ condition: @Sendable (ContractState) -> Bool) async -> ContractState? {
        for await state in states where condition(state) { return state }
        return nil
    }

    func waitForAttempt(_ number: Int) async {
        await wait { $0 == .connecting(attempt: number) }
        // The request follows the state.
        await waitUntil { attemptCount == number }
    }

    /// Waits for the state `waiting`, and returns its values.
    @discardableResult
    func waitForWait(before attempt: Int) async -> (until: ContinuousClock.Instant, reason: ContractError)? {
        let state = await wait { if case .waiting(_, attempt, _) = $0 { true } else { false } }
        if case .waiting(let until, _, let reason)? = state { return (until, reason) }
        return nil
    }

    func connectAndOpen() async throws {
        connect()
        try await open()
    }
}

enum Contract: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case webSocket = "ReconnectingWebSocket"
    case eventStream = "EventStream"

    func client(_ policy: any RetryPolicy = .delays([.seconds(7)])) -> any ContractClient {
        switch self {
        case .webSocket: WebSocketUnderContract(policy)
        case .eventStream: EventStreamUnderContract(policy)
        }
    }

    var testDescription: String { rawValue }
}

// MARK: The clients

final class WebSocketUnderContract: ContractClient {
    private let loop = NIOAsyncTestingEventLoop()
    private let suspended = NIOLockedValueBox(Duration.zero)
    private let origin = ContinuousClock.now
    private let channels = Log<NIOAsyncTestingChannel>()
    private let webSocket = NIOLockedValueBox<ReconnectingWebSocket?>(nil)

    init(_ policy: any RetryPolicy) {
        var options = ReconnectingWebSocket.Options()
        options.retryPolicy = policy
        options.heartbeat = .off
        let (loop, suspended, origin, channels) = (loop, suspended, origin, channels)
        let connector = WebSocketConnector(options.connection)
        let webSocket = ReconnectingWebSocket(
            options,
            on: loop,
            clock: { Self.now(origin, loop, suspended) },
            request: { WebSocketRequest(host: "example.com", useTLS: false) },
            { request, _, receive in
                let channel = NIOAsyncTestingChannel(loop: loop)
                let address = try? SocketAddress(ipAddress: "127.0.0.1", port: 80)
                address.map { channel.connect(to: $0, promise: nil) }
                channels.append(channel)
                return connector.connect(to: request, over: channel, receive: receive)
            }
        )
        self.webSocket.withLockedValue { $0 = webSocket }
    }

    private var current: ReconnectingWebSocket? { webSocket.withLockedValue { $0 } }
    private func channel() throws -> NIOAsyncTestingChannel {
        guard let channel = channels.elements.last else { throw WebSocketError(.connectionClosed, "no attempt") }
        return channel
    }

    func connect() { current?.connect() }
    func connected(timeout: Duration?) async throws { try await current?.connected(timeout: timeout) }
    func closed(timeout: Duration?) async throws { try await current?.closed(timeout: timeout) }
    func close() { try? current?.close() }
    var state: ContractState { current.map { ContractState($0.state) } ?? .closed(nil) }

    var states: AsyncStream<ContractState> { ContractState.each(of: current?.states) { ContractState($0) } }

    func release() { webSocket.withLockedValue { $0 = nil } }

    var attemptCount: Int { channels.count }

    func accept() async throws {
        let request = try await channel().waitForOutboundWrite(as: ByteBuffer.self)
        try await channel().writeInbound(ByteBuffer(string: acceptance(of: String(buffer: request))))
        await loop.run()
    }

    func refuse() async throws {
        _ = try await channel().waitForOutboundWrite(as: ByteBuffer.self)
        try await channel().writeInbound(ByteBuffer(string: "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"))
        await loop.run()
    }

    func refuse(retryAfter: String) async throws {
        _ = try await channel().waitForOutboundWrite(as: ByteBuffer.self)
        let answer = "HTTP/1.1 503 No\r\nRetry-After: \(retryAfter)\r\nContent-Length: 0\r\n\r\n"
        try await channel().writeInbound(ByteBuffer(string: answer))
        await loop.run()
    }

    func drop() async throws {
        try await channel().close()
        await loop.run()
    }

    var isDropped: Bool {
        get async throws {
            let channel = try channel()
            while let bytes = try await channel.readOutbound(as: ByteBuffer.self) {
                if bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) == 0x88 { return true }
            }
            return !channel.isActive
        }
    }

    private static func now(
        _ origin: ContinuousClock.Instant,
        _ loop: NIOAsyncTestingEventLoop,
        _ suspended: NIOLockedValueBox<Duration>
    ) -> ContinuousClock.Instant {
        origin + .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
    }

    var now: ContinuousClock.Instant { Self.now(origin, loop, suspended) }
    func advance(by duration: Duration) async { await loop.advanceTime(by: TimeAmount(clamping: duration)) }
    func suspend(for duration: Duration) { suspended.withLockedValue { $0 += duration } }
}

extension ContractState {
    static func each<State: Sendable>(
        of states: AsyncStream<State>?,
        _ convert: @escaping @Sendable (State) -> ContractState
    ) -> AsyncStream<ContractState> {
        AsyncStream { continuation in
            let task = Task {
                if let states { for await state in states { continuation.yield(convert(state)) } }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }

    init(_ state: ReconnectingWebSocket.State) {
        self =
            switch state {
            case .idle: .idle
            case .connecting(let attempt): .connecting(attempt: attempt)
            case .open: .open
            case .waiting(let until, let attempt, let reason):
                .waiting(until: until, attempt: attempt, reason: ContractError(reason))
            case .closing: .closing
            case .closed(let error): .closed(error.map { ContractError($0) })
            }
    }

    init(_ state: EventStream.State) {
        self =
            switch state {
            case .idle: .idle
            case .connecting(let attempt): .connecting(attempt: attempt)
            case .open: .open
            case .waiting(let until, let attempt, let reason):
                .waiting(until: until, attempt: attempt, reason: ContractError(reason))
            case .closed(let error): .closed(error.map { ContractError($0) })
            }
    }
}

final class EventStreamUnderContract: ContractClient {
    private struct State {
        var stream: EventStream?
        var task: Task<Void, Never>?
        /// The requests that the server has seen.
        var exchanges: [VirtualExchange] = []
    }

    private let world = VirtualWorld()
    private let box: NIOLockedValueBox<State>

    init(_ policy: any RetryPolicy) {
        var options = EventStreamOptions()
        options.reconnectionTime = .zero
        options.retryPolicy = policy
        options.responseTimeout = .seconds(15)
        box = NIOLockedValueBox(State(stream: world.stream(options: options)))
    }

    private var current: EventStream? { box.withLockedValue { $0.stream } }

    func connect() {
        // The stream connects when the app takes events, and reconnects only after the app has taken them.
        guard let events = current?.events else { return }
        box.withLockedValue { state in
            guard state.task == nil else { return }
            state.task = Task {
                do { for try await _ in events {} } catch {}
            }
        }
    }

    func connected(timeout: Duration?) async throws { try await current?.connected(timeout: timeout) }
    func close() { current?.close() }
    func closed(timeout: Duration?) async throws { try await current?.closed(timeout: timeout) }
    var state: ContractState { current.map { ContractState($0.state) } ?? .closed(nil) }

    var states: AsyncStream<ContractState> { ContractState.each(of: current?.states) { ContractState($0) } }

    func release() async {
        let (states, task) = box.withLockedValue { state in
            defer { state.stream = nil }
            return (state.stream?.states, state.task)
        }
        task?.cancel()
        // The task may be busy, and then notices the cancellation later.
        if let states { for await _ in states {} }
    }

    var attemptCount: Int { world.requestCount }

    /// Returns the request of the current attempt.
    private func exchange() async -> VirtualExchange? {
        while box.withLockedValue({ $0.exchanges.count }) < world.requestCount,
            let exchange = await world.nextRequest()
        {
            box.withLockedValue { $0.exchanges.append(exchange) }
        }
        return box.withLockedValue { $0.exchanges.last }
    }

    func accept() async throws { try await exchange()?.respond() }
    func refuse() async throws { try await exchange()?.bring(.failed(HTTPRequestError(.failed, "refused"))) }
    func refuse(retryAfter: String) async throws {
        try await exchange()?.respond(503, ["Retry-After": retryAfter])
        try await exchange()?.bring(.end)
    }
    func drop() async throws { try await exchange()?.bring(.failed(HTTPRequestError(.failed, "dropped"))) }

    var isDropped: Bool { get async { await exchange()?.isCancelled ?? true } }

    var now: ContinuousClock.Instant { world.now }
    func advance(by duration: Duration) async { await world.advance(by: duration) }
    func suspend(for duration: Duration) { world.suspend(for: duration) }
}
