import Foundation
import PusherClient
import Testing

/// The transport with which a ``VirtualWorld`` connects its clients.
enum TransportUnderTest {
    @TaskLocal static var current = PusherTransport.webSocket

    /// The transports that suites run with. `PUSHER_TEST_TRANSPORT=httpPolling` selects one, to see which of them
    /// fails.
    static let all: [PusherTransport] = {
        let name = ProcessInfo.processInfo.environment["PUSHER_TEST_TRANSPORT"]
        return name.flatMap { PusherTransport(rawValue: $0) }.map { [$0] } ?? PusherTransport.allCases
    }()
}

/// Runs each test of a suite once over each transport.
struct EachTransport: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        let isOfWebSocket = test.traits.contains { $0 is OfWebSocketOnly }
        for transport in TransportUnderTest.all where transport == .webSocket || !isOfWebSocket {
            try await TransportUnderTest.$current.withValue(transport, operation: function)
        }
    }
}

/// Keeps a test from running with the other transports. The test is about frames, the upgrade or the closing handshake.
/// Or it needs one of these: all messages arrive in one read; the server notices an end at once, which a session over
/// HTTP outlives; messages larger than the limit, which only the in-memory WebSocket accepts.
struct OfWebSocketOnly: TestTrait {}

extension Trait where Self == EachTransport {
    static var overEachTransport: Self { EachTransport() }
}

extension Trait where Self == OfWebSocketOnly {
    static var ofWebSocketOnly: Self { OfWebSocketOnly() }
}
