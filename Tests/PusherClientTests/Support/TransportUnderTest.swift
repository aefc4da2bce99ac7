import Foundation
import PusherClient
import Testing

/// The transport that the clients of a ``VirtualWorld`` use.
enum TransportUnderTest {
    @TaskLocal static var current = PusherTransport.webSocket

    /// The transports that suites run with. `PUSHER_TEST_TRANSPORT=httpPolling` selects one transport.
    static let all: [PusherTransport] = {
        let name = ProcessInfo.processInfo.environment["PUSHER_TEST_TRANSPORT"]
        return name.flatMap { PusherTransport(rawValue: $0) }.map { [$0] } ?? PusherTransport.allCases
    }()
}

/// A trait that runs each test of a suite once over each transport.
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

/// A trait that excludes transports from a test. Excluded transports have no frames, upgrade or closing handshake.
/// Only the in-memory WebSocket accepts a message beyond the limit. A poll brings all waiting events in one read.
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
