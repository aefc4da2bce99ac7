import EventSourceTestServer
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

@Suite("Event streams over a socket, with the cases of the contract tests", .limited)
struct WireTests {
    @Test("the list has 93 cases")
    func count() { #expect(WireCase.all.count == 93) }

    @Test("the client reads bodies that arrive in pieces", arguments: WireCase.all)
    func body(_ wireCase: WireCase) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: wireCase.chunks.map { .bytes($0) })])
            let stream = EventStream(
                server.url,
                options: with(EventStreamOptions()) { $0.reconnection = .never },
                connector: .patient
            )
            var items: [EventStreamItem] = []
            for try await item in stream.items { items.append(item) }
            guard case .opened(let response)? = items.first else {
                Issue.record("not opened")
                return
            }
            #expect(response.status == 200)
            #expect(items.dropFirst() == wireCase.items[...])
        }
    }
}
