import Foundation
import ServerSentEvents
import SignalRClient

/// A screen with a chat and a feed. Its declarations belong to the main actor by default.
package final class ChatScreen {
    private let connection: HubConnection
    private let feed: String
    private var texts: [String] = []

    package init(hub: String, feed: String) {
        connection = HubConnectionBuilder().withUrl(url: hub).build()
        self.feed = feed
    }

    /// Says hello, and returns the hub's answer and the announcements that the screen got.
    package func sayHello() async throws -> [String] {
        await connection.on("Announce") { [weak self] (text: String) in await self?.show(text) }
        let announcements = connection.messages(of: "Announce", as: String.self)
        try await connection.start()
        show(try await connection.invoke(method: "Greet", arguments: "the main actor"))
        try await connection.send(method: "Announce")
        for await text in announcements {
            show("again: \(text)")
            break
        }
        await connection.stop()
        return texts.sorted()
    }

    /// Returns the lines of the feed.
    package func lines() async throws -> [String] {
        var lines: [String] = []
        var options = EventStreamOptions()
        options.reconnection = .never
        let stream = EventStream(feed, options: options)
        for try await event in stream.events { lines.append(event.data) }
        return lines
    }

    private func show(_ text: String) { texts.append(text) }
}
