import ArgumentParser
import PusherServerAPI

struct TerminateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "terminate",
        abstract: "Close all connections of a signed-in user.",
        usage: "pusher terminate USER [options]",
        discussion: """
            The server closes the connections with code 4009, so the clients do not reconnect by themselves. It does not
            say whether the user had connections.

            EXAMPLE
              pusher terminate 7
            """
    )

    @OptionGroup var server: ServerOptions

    @Argument(help: "The user's id.")
    var user: String

    func run() async throws {
        let user = user
        try await server.withAPI { try await $0.terminateConnections(ofUser: user) }
    }
}
