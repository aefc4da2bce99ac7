import ClientTestSupport
import NIOCore
import NIOPosix
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Attempts without an answer, on real sockets", .limited)
struct SilentConnectionTests {
    @Test(
        "an attempt with a silent TLS handshake or upgrade fails at its timeout, and the next attempt succeeds",
        arguments: [true, false]
    )
    func silent(useTLS: Bool) async throws {
        try await withRelay(useTLS: useTLS, timeouts: .hasty) { _, relay, pusher in
            var errors = pusher.errors.makeAsyncIterator()
            relay.failConnections(1, with: .silent)
            pusher.connect()
            let error = try #require(await errors.next())
            #expect(error.code == .connectionTimedOut)
            #expect(error.message.contains("no connection to '\(relay.host)'"))
            try await pusher.connected()
            // The client has closed the silent connection.
            try await relay.nextConnection(timeout: .patience) { $0.fault == .silent && !$0.isOpen }
        }
    }

    @Test("an attempt without a greeting fails at its timeout, and the next attempt succeeds")
    func noGreeting() async throws {
        try await withRelay(timeouts: .hasty) { server, _, pusher in
            var errors = pusher.errors.makeAsyncIterator()
            server.failConnections(1, with: .silent)
            pusher.connect()
            #expect(await errors.next()?.code == .connectionTimedOut)
            try await pusher.connected()
        }
    }

    @Test("an attempt fails at its timeout if the host does not answer TCP")
    func noTCP() async throws {
        // One connection fills the queue of a listener that never accepts. The system then does not answer any other
        // connection.
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: 0)
            .serverChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(listener.localAddress?.port)
        let filler = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(.patience))
            .connect(host: "127.0.0.1", port: port).get()
        var timeouts = PusherTimeouts.patient
        timeouts.connectionAttempt = .milliseconds(100)
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                timeouts: timeouts,
                retryPolicy: .delays([.milliseconds(20)]),
                logger: .quiet
            )
        )
        var errors = pusher.errors.makeAsyncIterator()
        pusher.connect()
        for _ in 1...2 { #expect(await errors.next()?.code == .connectionTimedOut) }
        await pusher.disconnected()
        try await filler.close()
        try await listener.close()
    }
}
