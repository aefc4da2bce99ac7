import EventSourceTestServer
import ServerSentEvents
import TestTraits
import Testing

@Suite("Event streams", .limited)
struct EventStreamTests {
    @Test("the first request has the header fields for event streams, and no last id")
    func request() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("event: a\nid: 1\ndata: x\n\n"), TestResponse(status: 204)], at: "/feed")
            let stream = EventStream(server.url + "/feed", options: .quick, connector: .patient)
            var events: [ServerSentEvent] = []
            for try await event in stream.events { events.append(event) }
            #expect(events == [ServerSentEvent(event: "a", data: "x", id: "1")])
            let request = server.requests[0]
            #expect(request.method == "GET")
            #expect(request.header("Accept") == "text/event-stream")
            #expect(request.header("Cache-Control") == "no-cache")
            #expect(request.header("Last-Event-ID") == nil)
            #expect(server.requests[1].header("Last-Event-ID") == "1")
            #expect(stream.state == .closed(nil))
            #expect(stream.lastEventID == "1")
        }
    }

    @Test("cancelling the task or leaving the loop closes the connection")
    func freed() async throws {
        try await EventSourceTestServer.withServer { server in
            let (ends, end) = AsyncStream.makeStream(of: Void.self)
            server.respond(at: "/feed") { exchange in
                // The client may close the connection before the answer.
                defer { end.yield() }
                try await exchange.start()
                try await exchange.send("data: x\n\n")
                await exchange.disconnected()
            }
            for try await _ in EventStream(server.url + "/feed", connector: .patient).events { break }
            await ends.first { _ in true }
            let task = Task {
                var count = 0
                for try await _ in EventStream(server.url + "/feed", connector: .patient).events { count += 1 }
                return count
            }
            await server.waitForRequests(count: 2)
            task.cancel()
            #expect(try await task.value <= 1)
            await ends.first { _ in true }
        }
    }
}
