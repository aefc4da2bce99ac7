import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Disturbed connections, on real sockets", .limited)
struct DisturbedConnectionTests {
    @Test(
        "the client connects and gets all events in order if bytes come late or one by one",
        arguments: [
            PusherTestRelay.StreamFault.trickled(every: .milliseconds(1)), .delayed(.milliseconds(30)),
        ],
        [false, true]
    )
    func slow(fault: PusherTestRelay.StreamFault, useTLS: Bool) async throws {
        try await withRelay(useTLS: useTLS) { server, relay, pusher in
            relay.fail(with: fault)
            var channel = try await WatchedChannel("orders", of: pusher)
            let sent = (1...12).map { "\($0) \(String(repeating: "é🙂", count: $0))" }
            for data in sent { try server.publish(event: "created", data: data, to: "orders") }
            for data in sent { #expect(await channel.next() == data) }
            #expect(relay.connections.count == 1)
        }
    }

    @Test(
        "the client reports corrupted bytes, closes with the right code, and reconnects",
        arguments: [(1, PusherClientError.Code.protocolViolation, 1002), (7, .invalidText, 1007)]
    )
    func corrupted(interval: Int, code: PusherClientError.Code, closeCode: Int) async throws {
        try await withRelay(timeouts: .hasty) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            relay.fail(.toClient, with: .corrupted(every: interval))
            try server.publish(event: "created", data: "changed", to: "orders")
            #expect(await errors.next()?.code == code)
            relay.passOn()
            try await server.nextRecord(timeout: .patience) { record in
                if case .closeReceived(closeCode, _) = record.event { true } else { false }
            }
            #expect(await channel.resubscribed())
            // The next event that arrives is correct, so the client has delivered no corrupted data.
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }

    @Test(
        "the client reports corrupted TLS bytes in either direction, and reconnects",
        arguments: [PusherTestRelay.Directions.toClient, .toServer]
    )
    func corruptedTLS(directions: PusherTestRelay.Directions) async throws {
        try await withRelay(useTLS: true, timeouts: .hasty) { server, relay, pusher in
            var channel = try await WatchedChannel("orders", of: pusher)
            var errors = pusher.errors.makeAsyncIterator()
            relay.fail(directions, with: .corrupted(every: 40))
            try server.publish(event: "created", data: String(repeating: "changed", count: 20), to: "orders")
            if directions == .toServer { pusher.subscribe(String(repeating: "other", count: 20)) }
            let error = try #require(await errors.next())
            relay.passOn()
            // If the server notices the corruption, it may close TCP before its TLS alert arrives.
            if error.code != .connectionClosed || directions == .toClient {
                #expect(error.code == .tlsFailed)
                #expect(error.tlsFailure?.code == .corrupted, "\(error)")
                #expect(!"\(error)".contains("BoringSSL"))
            }
            #expect(await channel.resubscribed())
            if directions == .toServer { #expect(await channel.next() != nil) }
            #expect(try await channel.relayed("after", by: server) == "after")
        }
    }
}
