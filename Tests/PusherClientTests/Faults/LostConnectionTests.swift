import Foundation
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Lost connections, on real sockets", .limited)
struct LostConnectionTests {
    @Test(
        "the client reports a connection that is closed without a close frame, and reconnects",
        arguments: [false, true]
    )
    func dropped(useTLS: Bool) async throws {
        try await withRelay(useTLS: useTLS) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            relay.dropConnections()
            #expect(await errors.next()?.code == .connectionClosed)
            #expect(await channel.resubscribed())
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test(
        "the client reports a reset once, with the system's reason, and reconnects",
        arguments: [false, true]
    )
    func reset(useTLS: Bool) async throws {
        try await withRelay(useTLS: useTLS) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            relay.resetConnections()
            let error = try #require(await errors.next())
            #expect(error.code == .connectionClosed)
            #expect((error.cause as? IOError)?.errnoCode == ECONNRESET)
            let words = String(cString: strerror(ECONNRESET))
            #expect(error.message.contains(words))
            #expect("\(error)".components(separatedBy: words).count == 2)
            #expect(!"\(error)".contains("errno"))
            #expect(await channel.resubscribed())
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test(
        "the client's ping detects a connection that carries no bytes in one or both directions",
        arguments: [PusherTestRelay.Directions.both, .toServer, .toClient]
    )
    func halfOpen(directions: PusherTestRelay.Directions) async throws {
        try await withRelay(activityTimeout: 0.1, timeouts: .alert) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            let socketID = try #require(pusher.connection.socketId)
            relay.fail(directions, with: .swallowed)
            #expect(await errors.next()?.code == .pongTimedOut)
            relay.passOn()
            #expect(await channel.resubscribed())
            #expect(pusher.connection.socketId != socketID)
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test("the client's ping detects a connection on which the server's bytes stop")
    func held() async throws {
        try await withRelay(activityTimeout: 0.1, timeouts: .alert) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            relay.fail(.toClient, with: .held)
            #expect(await errors.next()?.code == .pongTimedOut)
            relay.passOn()
            #expect(await channel.resubscribed())
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test("the client retries while connections are refused, and connects to a later listener")
    func refused() async throws {
        try await withRelay { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            await relay.stopListening()
            relay.resetConnections()
            #expect(await errors.next()?.code == .connectionClosed)
            for _ in 1...3 {
                let error = try #require(await errors.next())
                #expect(error.code == .connectionFailed)
                #expect(!"\(error)".contains("errno"))
            }
            try await relay.start()
            #expect(await channel.resubscribed())
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test(
        "the client reconnects after connections that are closed at once",
        arguments: [PusherTestRelay.ConnectionFault.closed, .reset],
        [false, true]
    )
    func endedAtOnce(fault: PusherTestRelay.ConnectionFault, useTLS: Bool) async throws {
        try await withRelay(useTLS: useTLS) { _, relay, pusher in
            var errors = pusher.errors.makeAsyncIterator()
            relay.failConnections(2, with: fault)
            try await pusher.connected()
            for _ in 1...2 {
                let code = try #require(await errors.next()?.code)
                // A reset may arrive before the client knows that the connection is open.
                #expect([useTLS ? .tlsFailed : .upgradeFailed, .connectionFailed].contains(code))
            }
            #expect(relay.connections.map(\.fault) == [fault, fault, nil])
        }
    }
}
