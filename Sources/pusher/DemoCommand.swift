import ArgumentParser
import PusherTestServer

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Watch two clients and the embedded server at work.",
        discussion: """
            Starts the embedded server on a free port of 127.0.0.1, and connects two clients to the server over real \
            sockets. A backend publishes events through the REST API. A connection is lost, and the client reconnects. Two \
            users join a presence channel, and one user sends the other user a client event on a private channel. The key of \
            an encrypted channel changes, and the client still gets events. Then a member leaves.

            With --block-websockets, the clients are behind a network that swallows each request for a WebSocket. The \
            clients then connect over HTTP.

            Each line contains the time since the start, a name and an action. The exit code is 0 if all events arrived.
            """
    )

    @Option(help: "The number of events to publish before and after the loss (1 to 100).")
    var events = 3

    @Flag(help: "Put the clients behind a network that blocks WebSockets.")
    var blockWebsockets = false

    func validate() throws {
        guard (1...100).contains(events) else { throw ValidationError("--events takes a number from 1 to 100.") }
    }

    func run() async throws {
        var options = PusherTestServer.Options()
        // As on real servers, so a member who leaves over HTTP is gone soon.
        options.httpTransports.disconnectDelay = .seconds(5)
        try await PusherTestServer.withServer(options: options) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await show(server) }
                group.addTask {
                    try await Task.sleep(for: .seconds(60))
                    throw ExitMessage("Demo failed: it did not end within a minute.")
                }
                try await group.next()
                group.cancelAll()
            }
        }
    }

    private func show(_ server: PusherTestServer) async throws {
        guard blockWebsockets else { return try await Demo(server: server, eventCount: events).run() }
        try await PusherTestRelay.withRelay(options: .init(serverPort: server.port)) { relay in
            relay.blockUpgrades(with: .swallowed)
            try await Demo(server: server, eventCount: events, relay: relay).run()
        }
    }
}
