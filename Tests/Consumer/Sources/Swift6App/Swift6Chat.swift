import ServerSentEvents
import SignalRClient

/// A chat and a feed in Swift 6 mode, with typed calls and sequences.
package struct Swift6Chat: Sendable {
    private struct Price: Decodable, Sendable {
        let amount: Int
    }

    private let connection: HubConnection
    private let feed: String

    package init(hub: String, feed: String) {
        connection = HubConnectionBuilder().withUrl(url: hub).withStatefulReconnect().build()
        self.feed = feed
    }

    /// Says hello, and returns the hub's answer.
    package func sayHello() async throws -> String {
        try await connection.withConnection { try await connection.invoke(.greet, "Swift 6 mode") }
    }

    /// Returns the sum of the feed's prices.
    package func total() async throws -> Int {
        var total = 0
        var options = EventStreamOptions()
        options.reconnection = .never
        let stream = EventStream(feed, options: options)
        for try await price in stream.events(as: Price.self) { total += price.amount }
        return total
    }
}

extension HubMethod where Arguments == String, Result == String {
    fileprivate static var greet: Self { Self("Greet") }
}
