import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestSupport
import Testing

/// A transport and a protocol for reaching a hub.
struct Route: Sendable, CustomTestStringConvertible {
    var transport: HttpTransportType
    var hubProtocol: HubProtocolType
    var isInMemory = false

    var testDescription: String {
        let name =
            isInMemory
            ? "in memory"
            : transport == .webSockets ? "WebSockets" : transport == .longPolling ? "long polling" : "events"
        return "\(name), \(hubProtocol)"
    }

    static let all = [
        Route(transport: .webSockets, hubProtocol: .json), Route(transport: .webSockets, hubProtocol: .messagePack),
        Route(transport: .longPolling, hubProtocol: .json), Route(transport: .serverSentEvents, hubProtocol: .json),
        Route(transport: .longPolling, hubProtocol: .messagePack),
        Route(transport: .webSockets, hubProtocol: .json, isInMemory: true),
        Route(transport: .webSockets, hubProtocol: .messagePack, isInMemory: true),
    ]

    func builder(_ server: SignalRTestServer) -> HubConnectionBuilder {
        let builder = HubConnectionBuilder.patient.withUrl(url: server.url, transport: transport)
            .withHubProtocol(hubProtocol: hubProtocol)
        return isInMemory ? server.connect(builder) : builder
    }
}

extension HubConnectionBuilder {
    /// A builder of connections with a long time limit for connecting, for slow machines.
    static var patient: HubConnectionBuilder { HubConnectionBuilder().withConnectTimeout(.patience) }
}

/// Runs a hub while the body runs.
func withServer<Result>(
    _ options: TestHubOptions = TestHubOptions(),
    inMemory: Bool = false,
    _ body: (SignalRTestServer) async throws -> Result
) async throws -> Result {
    let server = inMemory ? try await SignalRTestServer.inMemory(options: options) : try await .start(options: options)
    do {
        let result = try await body(server)
        await server.shutdown()
        return result
    } catch {
        await server.shutdown()
        throw error
    }
}

/// Runs a hub, and a connection to it.
///
/// - Parameter mayEnd: Whether the connection can end during the body. If the value is `false` and the connection ends,
///   the test fails at once instead of waiting.
func withConnection(
    _ route: Route = Route.all[0],
    _ configure: (HubConnectionBuilder) -> HubConnectionBuilder = { $0 },
    mayEnd: Bool = false,
    _ body: @escaping @Sendable (HubConnection, SignalRTestServer) async throws -> Void
) async throws {
    try await withServer(inMemory: route.isInMemory) { server in
        let connection = configure(route.builder(server)).build()
        try await connection.start()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await body(connection, server) }
            if !mayEnd {
                let states = connection.statuses
                group.addTask {
                    for await status in states {
                        if case .stopped(let error) = status { throw UnexpectedEnd(error: error) }
                    }
                }
            }
            // The group reports the first result before it cancels the body, so the cancellation cannot hide an
            // unexpected end.
            try await group.next()
            group.cancelAll()
        }
        await connection.stop()
    }
}

/// The error for a connection that ends during a test although it should not.
struct UnexpectedEnd: Error {
    var error: (any Error)?
}

/// A collection of values that arrive one by one, for tests that wait for the values.
final class Inbox<Element: Sendable>: Sendable {
    private let stream: AsyncStream<Element>
    private let continuation: AsyncStream<Element>.Continuation

    init() { (stream, continuation) = AsyncStream.makeStream() }

    func add(_ element: Element) { continuation.yield(element) }

    /// Returns the next elements after `count` elements have arrived.
    func next(_ count: Int) async -> [Element] {
        var elements: [Element] = []
        for await element in stream {
            elements.append(element)
            if elements.count == count { break }
        }
        return elements
    }

    func next() async throws -> Element { try #require(await next(1).first) }
}

/// Waits until the condition is true, for at most 100,000 turns of other tasks. A test whose condition can stay false then
/// fails, instead of waiting for the time limit of all tests.
func turns(until isMet: () async throws -> Bool) async rethrows -> Bool {
    for _ in 0..<100_000 {
        if try await isMet() { return true }
        await Task.yield()
    }
    return false
}

/// Waits until the status meets the condition.
func wait(_ connection: HubConnection, until isMet: (HubConnectionStatus) -> Bool) async {
    for await status in connection.statuses where isMet(status) { return }
}

/// Returns the code of a `SignalRClientError`, or nil for another error.
func code(_ error: (any Error)?) -> SignalRClientError.Code? { (error as? SignalRClientError)?.code }

/// Returns the text that the caller of `ask_me` gets if the client's handler fails with a message.
func askMeError(_ message: String) -> String {
    "An unexpected error occurred invoking 'ask_me' on the server. HubException: \(message)"
}
