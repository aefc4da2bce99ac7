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
        let excluded = test.traits.compactMap { ($0 as? Excluding)?.transports }.flatMap { $0 }
        for transport in TransportUnderTest.all where !excluded.contains(transport) {
            try await TransportUnderTest.$current.withValue(transport, operation: function)
        }
    }
}

/// Keeps a test from being run over other transports. It concerns frames, the upgrade or the closing handshake; or a message that
/// is larger than the limit, which only the in-memory WebSocket lets pass; or it counts on how reads are cut: a poll brings all
/// that has come since the last one.
struct Excluding: TestTrait {
    let transports: [PusherTransport]
}

extension Trait where Self == EachTransport {
    static var overEachTransport: Self { EachTransport() }
}

extension Trait where Self == Excluding {
    static var ofWebSocketOnly: Self { Excluding(transports: [.httpStreaming, .httpPolling]) }
    static var notOverPolling: Self { Excluding(transports: [.httpPolling]) }
}
