#if ServiceLifecycle
    import ClientTestSupport
    import Logging
    import PusherTestServer
    import ServiceLifecycle
    import TestSupport
    import TestTraits
    import Testing

    @testable import PusherClient

    @Suite("As a service", .limited)
    struct ServiceTests {
        @Test("a graceful shutdown disconnects with the closing handshake, and ends the service group")
        func shutdownWhileRunning() async throws {
            try await PusherTestServer.withServer { server in
                let pusher = Pusher(server)
                let group = ServiceGroup(services: [pusher], logger: .quiet)
                try await withThrowingTaskGroup { tasks in
                    tasks.addTask { try await group.run() }
                    try await pusher.connected()
                    await group.triggerGracefulShutdown()
                    try await tasks.waitForAll()
                }
                #expect(pusher.connection.connectionState == .disconnected)
                try await server.nextRecord(timeout: .patience) { $0.event == .closeReceived(code: 1000, reason: "") }
            }
        }

        @Test("a shutdown that begins before the client runs stops the client")
        func shutdownBeforeRun() async throws {
            try await PusherTestServer.withServer { server in
                let pusher = Pusher(server)
                let gate = Gate()
                let group = ServiceGroup(services: [LateService(pusher: pusher, gate: gate)], logger: .quiet)
                try await withThrowingTaskGroup { tasks in
                    tasks.addTask { try await group.run() }
                    await gate.isReached()
                    await group.triggerGracefulShutdown()
                    try await tasks.waitForAll()
                }
                #expect(pusher.connection.connectionState == .disconnected)
                #expect(server.records.isEmpty)
            }
        }

        /// A service that runs the client after the shutdown has begun.
        private struct LateService: Service {
            let pusher: Pusher
            let gate: Gate

            func run() async throws {
                gate.reach()
                try await gracefulShutdown()
                try await pusher.run()
            }
        }

        private final class Gate: Sendable {
            private let stream = AsyncStream.makeStream(of: Void.self)

            func reach() { stream.continuation.finish() }
            func isReached() async { for await _ in stream.stream {} }
        }

        @Test("a final refusal ends the service group with its error")
        func refusal() async throws {
            try await PusherTestServer.withServer { server in
                let options = PusherClientOptions(endpoint: server.endpoint, timeouts: .patient, logger: .quiet)
                let group = ServiceGroup(services: [Pusher(key: "unknown", options: options)], logger: .quiet)
                let error = await #expect(throws: PusherClientError.self) { try await group.run() }
                #expect(error?.code == .connectionRefused)
            }
        }
    }
#endif
