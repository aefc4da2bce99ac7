import PusherClient
import PusherTestServer
import TestTraits
import Testing

/// The tests of an app, which Swift Testing starts all at once. They use the defaults of the client and the server, so no
/// default may be shorter than a busy machine needs.
@Suite("Many tests of an app at once", .limited)
struct ManyTestsAtOnceTests {
    #if os(Linux)
        private static let count = 500
    #else
        // A process may have only 256 open files.
        private static let count = 25
    #endif

    @Test(
        "all tests pass, each with its own server and client",
        .serialized,
        arguments: [PusherTransport.webSocket, .httpStreaming, .httpPolling]
    )
    func allPass(transport: PusherTransport) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...Self.count { group.addTask { try await Self.test(number, over: transport) } }
            try await group.waitForAll()
        }
    }

    private static func test(_ number: Int, over transport: PusherTransport) async throws {
        try await PusherTestServer.withServer { server in
            let options = PusherClientOptions(testing: server.access)
            options.transports = [transport]
            let pusher = Pusher(key: server.access.key, options: options)
            let orders = pusher.subscribe("private-orders").values(named: "created", as: Int.self)
            pusher.connect()
            try await server.waitForSubscription(to: "private-orders")
            for order in [number, number + 1] {
                try server.publish(event: "created", data: "\(order)", to: "private-orders")
            }
            var received: [Int] = []
            for await order in orders {
                received.append(order)
                if received.count == 2 { break }
            }
            #expect(received == [number, number + 1])
            await pusher.disconnected()
        }
    }
}
