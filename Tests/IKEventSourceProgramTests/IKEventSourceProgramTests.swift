import EventSourceTestServer
import Foundation
import ServerSentEvents
import TestTraits
import Testing

@Suite("Programs written for IKEventSource", .limited)
struct IKEventSourceProgramTests {
    @Test("a screen shows events until the server completes the stream")
    @MainActor
    func screen() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("id: 1\ndata: a\n\nevent: user-connected\ndata: Bob\n\n")])
            let screen = FeedViewController()
            let url = try #require(URL(string: server.url))
            await withCheckedContinuation { continuation in
                screen.isFinished = { continuation.resume() }
                screen.viewDidLoad(serverURL: url)
            }
            #expect(screen.lines == ["1 message a", "1 user-connected Bob"])
            #expect(!screen.isConnected)
            #expect(server.requests[0].header("Authorization") == "Basic abc")
        }
    }

    @Test("a program can replace the event source by another implementation")
    func protocolType() throws {
        let url = try #require(URL(string: "http://localhost/feed"))
        for source: any EventSourceProtocol in [SilentSource(url: url), EventSource(url: url)] {
            #expect(source.events() == [])
            #expect(source.url == url)
            source.disconnect()
        }
    }
}
