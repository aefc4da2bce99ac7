import ArgumentParser
import Foundation
import ServerSentEvents

/// Prints the events of a stream. Each line is a JSON array of the type, the id and the data of one event.
@main
struct SSEFollow: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sse-follow",
        abstract: "Prints the events of an event stream."
    )

    @Argument(help: "The stream's URL.")
    var url: String

    @Option(help: "The number of events after which the program ends.")
    var count: Int?

    func run() async throws {
        var left = count ?? .max
        var options = EventStreamOptions()
        options.reconnectionTime = .milliseconds(100)
        options.retryPolicy = .delays([.zero])
        for try await event in EventStream(url, options: options).events {
            let fields = try JSONEncoder().encode([event.event, event.id, event.data])
            print(String(decoding: fields, as: UTF8.self))
            left -= 1
            if left == 0 { break }
        }
    }
}
