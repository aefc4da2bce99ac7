import EventSourceTestServer
import Foundation
import ServerSentEvents

/// Follows a live feed of a server on this machine. No event is lost when the server restarts.
@main
enum SSEDemo {
    static func main() async throws {
        _ = start
        var server = try await EventSourceTestServer.start()
        let port = server.port
        serveFeed(on: server)
        say("the server listens on port \(port)")

        var options = EventStreamOptions()
        options.reconnectionTime = .milliseconds(500)
        let stream = EventStream("http://127.0.0.1:\(port)/feed", options: options)
        var expected = 1
        for try await item in stream.items {
            switch item {
            case .opened: say("the stream is open")
            case .comment(let text): say("a comment:\(text)")
            case .lost(let error):
                say("the connection was lost (\(error.code)); the state is \(stream.state.readyState)")
            case .event(let event):
                say("event \(event.id): \(event.data)")
                guard event.id == "\(expected)" else { throw MissedEvent() }
                expected += 1
                if expected == 6 {
                    say("the server stops")
                    await server.shutdown()
                    server = try await EventSourceTestServer.start(port: port)
                    serveFeed(on: server)
                    say("the server is back, and does not know the earlier events")
                }
            }
            if expected > 10 { break }
        }
        await server.shutdown()
        let statistics = stream.statistics
        print("10 events over \(statistics.connections) connections, none missed")
    }

    /// Sends a price every 0.2 seconds, beginning after the last event that the client has seen.
    private static func serveFeed(on server: EventSourceTestServer) {
        server.respond(at: "/feed") { exchange in
            let last = exchange.request.header("Last-Event-ID").flatMap { Int($0) } ?? 0
            try await exchange.start()
            try await exchange.send(": the feed starts after \(last)\n\n")
            for number in (last + 1)... {
                try await exchange.send("id: \(number)\nevent: price\ndata: \(100 + number * 7 % 13)\n\n")
                try await exchange.wait(for: .milliseconds(200))
            }
        }
    }

    private static let start = ContinuousClock.now

    private static func say(_ text: String) {
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        print(String(format: "%6.2f s  ", seconds) + text)
    }
}

private struct MissedEvent: Error {}
