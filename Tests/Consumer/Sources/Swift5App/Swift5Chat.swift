import Foundation
import ServerSentEvents
import SignalRClient

/// A chat that was written for Microsoft's client, and a feed that was written for IKEventSource.
package class Swift5Chat {
    let connection: HubConnection
    let source: EventSource
    var lines: [String] = []

    package init(hub: String, feed: URL) {
        connection = HubConnectionBuilder().withUrl(url: hub).withAutomaticReconnect().build()
        source = EventSource(url: feed)
    }

    /// Says hello, and returns the hub's answer.
    package func sayHello() async throws -> String {
        await connection.on("ReceiveMessage") { (user: String, text: String) in print("\(user): \(text)") }
        connection.onClosed { error in if let error { print(error) } }
        try await connection.start()
        let answer: String = try await connection.invoke(method: "Greet", arguments: "Swift 5 mode")
        await connection.stop()
        return answer
    }

    /// Collects lines until the feed ends. Then calls back on the main queue.
    package func follow(_ isFinished: @escaping ([String]) -> Void) {
        source.onMessage { [weak self] _, _, data in self?.lines.append(data ?? "") }
        source.onComplete { [weak self] _, _, _ in isFinished(self?.lines ?? []) }
        source.connect()
    }
}
