import Foundation
import ServerSentEvents
import TestTraits
import Testing

private let baseURL = ProcessInfo.processInfo.environment["ASPNET_HUB_URL"]

/// Tests of event streams of ASP.NET Core. `.ci/aspnet-hub` starts the server and passes its address.
@Suite("Event streams of ASP.NET Core", .enabled(if: baseURL != nil, "ASPNET_HUB_URL is not set."), .limited)
struct AspNetEventsTests {
    private func stream(_ path: String) -> EventStream { EventStream((baseURL ?? "") + path) }

    @Test("a stream that the server drops again and again loses no event, and repeats none")
    func drops() async throws {
        struct Item: Decodable { var number: Int, text: String }
        let stream = stream("/events?count=100&dropAfter=7")
        var items: [Item] = []
        for try await event in stream.events {
            items.append(try event.decode(Item.self))
            #expect(event.event == (items.count.isMultiple(of: 2) ? "even" : "odd"))
            if items.count == 100 { break }
        }
        #expect(items.map(\.number) == Array(1...100))
        #expect(items.allSatisfy { $0.text == "línea\n\($0.number)" })
        #expect(stream.reconnectionTime == .milliseconds(200))
        #expect(stream.statistics.connections >= 15)
    }

    @Test("lines of all kinds arrive as the standard says")
    func lines() async throws {
        var events: [ServerSentEvent] = []
        for try await event in stream("/events-raw").events {
            events.append(event)
            if events.count == 4 { break }
        }
        #expect(events.map(\.data) == ["first\nsecond", "", " two spaces", "no id"])
        #expect(events.map(\.event) == ["message", "ping", "message", "message"])
        #expect(events.map(\.id) == ["1", "1", "1", ""])
    }

    @Test("the stream of a language model ends at its sentinel")
    func tokens() async throws {
        struct Chunk: Decodable, Sendable {
            struct Choice: Decodable, Sendable { var delta: [String: String] }
            var choices: [Choice]
        }
        var text = ""
        for try await chunk in stream("/chat").events(as: Chunk.self, until: "[DONE]") {
            text += chunk.choices[0].delta["content"] ?? ""
        }
        #expect(text == "The quick brown fox ")
    }
}
