import EventSourceTestServer
import Foundation
import Testing

@Suite("Programs with event streams in Swift 6", .timeLimit(.minutes(5)))
@MainActor
struct ServerSentEventsProgramTests {
    @Test("a screen is bound to the main actor")
    func feed() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: a\n\ndata: b\n\n")])
            let feed = Feed(url: try #require(URL(string: server.url)))
            await withCheckedContinuation { continuation in feed.start { continuation.resume() } }
            #expect(feed.lines == ["a", "b"])
            #expect(!feed.isConnected)
        }
    }

    @Test("an answer is streamed, and a refusal says why")
    func assistant() async throws {
        try await EventSourceTestServer.withServer { server in
            let chunks = ["data: {\"text\": \"Hel\"}\n\n", "data: {\"text\": \"lo\"}\n\ndata: [DONE]\n\n"]
            server.script([
                TestResponse(steps: chunks.map { .send($0) }, holds: true),
                TestResponse(status: 429, steps: [.send("later")]),
            ])
            let assistant = Assistant()
            await assistant.ask("?", url: server.url)
            #expect(assistant.answer == "Hello")
            #expect(assistant.failure == nil)
            await assistant.ask("?", url: server.url)
            #expect(assistant.failure == "429: later")
            #expect(server.requests[0].text == #"{"question":"?"}"#)
        }
    }
}
