import EventSourceTestServer
import PusherTestServer
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

/// Tests with a relay that imitates a bad network.
@Suite("Event streams over bad networks", .limited)
struct FaultTests {
    /// Runs `body` with a relay to a feed of numbered events. The feed supports resuming.
    private func withFeed(
        upTo last: Int,
        _ body: (EventSourceTestServer, PusherTestRelay, String) async throws -> Void
    ) async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond { exchange in
                let seen = exchange.request.header("Last-Event-ID").flatMap { Int($0) } ?? 0
                guard seen < last else { return try await exchange.play(TestResponse(status: 204)) }
                try await exchange.start()
                for number in (seen + 1)...last { try await exchange.send("id: \(number)\r\ndata: €\(number)\r\n\r\n") }
                await exchange.disconnected()
            }
            let options = PusherTestRelay.Options(serverPort: server.port)
            try await PusherTestRelay.withRelay(options: options) { relay in
                try await body(server, relay, "http://127.0.0.1:\(relay.port)")
            }
        }
    }

    @Test("the client delivers each event once over many lost connections", arguments: ["drop", "reset", "refuse"])
    func losses(_ way: String) async throws {
        try await withFeed(upTo: 100) { server, relay, url in
            var next = 1
            for try await event in EventStream(url, options: .quick, connector: .patient).events {
                #expect(event == ServerSentEvent(data: "€\(next)", id: "\(next)"))
                next += 1
                if next > 100 { break }
                guard next.isMultiple(of: 10) else { continue }
                switch way {
                case "drop": relay.dropConnections()
                case "reset": relay.resetConnections()
                default:
                    relay.failConnections(1, with: .reset)
                    relay.resetConnections()
                }
            }
            #expect(next == 101)
        }
    }

    @Test("the client reads events whose bytes arrive one by one")
    func trickle() async throws {
        try await withFeed(upTo: 3) { _, relay, url in
            relay.fail(.toClient, with: .trickled(every: .zero))
            var data: [String] = []
            for try await event in EventStream(url, options: .quick, connector: .patient).events {
                data.append(event.data)
                if data.count == 3 { break }
            }
            #expect(data == ["€1", "€2", "€3"])
        }
    }

    @Test("the client replaces a connection after the idle timeout if the network drops all data")
    func swallowed() async throws {
        try await withFeed(upTo: 1_000_000) { _, relay, url in
            var options = EventStreamOptions.quick
            options.idleTimeout = .milliseconds(100)
            let recording = Recording(EventStream(url, options: options, connector: .patient))
            #expect(await recording.nextEvent()?.id == "1")
            relay.fail(with: .swallowed)
            #expect(await recording.nextError()?.code == .idleTimedOut)
            relay.passOn()
            #expect(await recording.nextEvent() != nil)
        }
    }

    @Test("the stream fails after invalid HTTP")
    func garbage() async throws {
        try await withFeed(upTo: 10) { _, relay, url in
            relay.fail(.toClient, with: .corrupted(every: 1))
            #expect(
                await Recording(EventStream(url, options: .once, connector: .patient)).end()?.code == .connectionFailed
            )
        }
    }
}
