import ArgumentParser
import Foundation
import Logging
import PusherClient

/// Runs two clients that constantly send messages to each other. `run.sh` reads the output of the clients while it
/// interrupts the network.
@main
struct NetworkCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "network-check")

    @Option var host: String
    @Option var port: Int
    @Option var key = "app-key"
    @Option var secret = "app-secret"

    func run() async throws {
        let clients = ["first", "second"].map { (name: $0, pusher: makeClient()) }
        await withTaskGroup(of: Void.self) { group in
            for (name, pusher) in clients {
                let channel = pusher.subscribe("private-check")
                let (said, statuses) = (channel.events(named: "client-said"), pusher.statuses)
                pusher.connect()
                group.addTask { await report(name, statuses) }
                group.addTask { for await event in said { printLine("\(name) heard \(event.data ?? "")") } }
                group.addTask {
                    for number in 1... {
                        // A message that is sent without a connection is lost, and the next number replaces it.
                        try? await channel.send("client-said", data: number)
                        // This sleep only sets the rate of the messages.
                        try? await Task.sleep(for: .milliseconds(200))
                    }
                }
            }
        }
    }

    private func makeClient() -> Pusher {
        let options = PusherClientOptions(endpoint: PusherEndpoint(host: host, port: port, useTLS: false))
        options.authMethod = .inline(secret: secret)
        options.activityTimeout = 1
        options.timeouts.connectionAttempt = .seconds(2)
        options.timeouts.pong = .seconds(1)
        options.retryPolicy = .exponential(base: .milliseconds(200), cap: .seconds(1))
        options.callbackQueue = .eventLoop
        options.logger = Logger(label: "network-check") { _ in SwiftLogNoOpLogHandler() }
        return Pusher(key: key, options: options)
    }

    private func report(_ who: String, _ statuses: EventSequence<ConnectionStatus>) async {
        for await status in statuses {
            switch status {
            case .connected: printLine("\(who) connected")
            case .waiting(_, let attempt, let reason): printLine("\(who) waits, attempt \(attempt): \(reason)")
            default: break
            }
        }
    }
}

/// Writes the line at once, even into a pipe.
private func printLine(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
