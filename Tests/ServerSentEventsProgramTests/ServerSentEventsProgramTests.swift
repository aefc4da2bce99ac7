import EventSourceTestServer
import Foundation
import TestTraits
import Testing

@Suite("Swift 6 programs with event streams", .limited)
@MainActor
struct ServerSentEventsProgramTests {
    @Test("a screen on the main actor shows a feed")
    func feed() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: a\n\ndata: b\n\n")])
            let feed = Feed(url: try #require(URL(string: server.url)))
            await withCheckedContinuation { continuation in feed.start { continuation.resume() } }
            #expect(feed.lines == ["a", "b"])
            #expect(!feed.isConnected)
        }
    }

    @Test("the client resumes a call of the Model Context Protocol with a GET")
    func tool() async throws {
        try await EventSourceTestServer.withServer { server in
            // The server first sends an id without an event, and completes the response. Then the client reconnects.
            server.script([.text("id: 1\nretry: 10\n\n"), .text("id: 2\ndata: {\"result\":42}\n\n")])
            var data: [String] = []
            for try await event in callTool(["method": "answer"], url: server.url).events {
                data.append(event.data)
                break
            }
            #expect(data == [#"{"result":42}"#])
            #expect(server.requests.map(\.method) == ["POST", "GET"])
            #expect(server.requests.map(\.bodyText) == [#"{"method":"answer"}"#, ""])
            #expect(server.requests.map { $0.header("Last-Event-ID") } == [nil, "1"])
        }
    }

    @Test("the view model shows a streamed answer, or the reason of a refusal")
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
            #expect(server.requests[0].bodyText == #"{"question":"?"}"#)
        }
    }
}
