import ArgumentParser
import Foundation
import Logging
import PusherClient

/// Two clients, one of which says something to the other all the time. `run.sh` reads what they print while it takes the
/// network away from them.
@main
struct NetworkCheck: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "network-check")

    @Option var host: String
    @Option var port: Int
    @Option var key = "app-key"
    @Option var secret = "app-secret"

    func run() async throws {
        let (talker, listener) = (makeClient(), makeClient())
        let (spoken, heard) = (talker.subscribe("private-check"), listener.subscribe("private-check"))
        let (said, statuses) = (heard.events(named: "client-said"), (talker.statuses, listener.statuses))
        talker.connect()
        listener.connect()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await report("talker", statuses.0) }
            group.addTask { await report("listener", statuses.1) }
            group.addTask { for await event in said { printLine("heard \(event.data ?? "")") } }
            group.addTask {
                for number in 1... {
                    // What is said without a connection is not heard, and said again with the next number.
                    try? await spoken.send("client-said", data: number)
                    try? await Task.sleep(for: .milliseconds(200))
                }
            }
        }
    }

    private func makeClient() -> Pusher {
        Pusher(
            key: key,
            options: PusherClientOptions(
                authMethod: .inline(secret: secret),
                host: .host(host),
                port: port,
                useTLS: false,
                activityTimeout: 1,
                timeouts: .init(connectionAttempt: .seconds(2), pong: .seconds(1)),
                retryPolicy: .exponential(base: .milliseconds(200), cap: .seconds(1)),
                callbackQueue: .eventLoop,
                logger: Logger(label: "network-check") { _ in SwiftLogNoOpLogHandler() }
            )
        )
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

/// At once, also into a pipe.
private func printLine(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }
