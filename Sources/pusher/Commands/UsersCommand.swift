import ArgumentParser
import PusherServerAPI

struct UsersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "users",
        abstract: "List the users on a presence channel.",
        usage: "pusher users CHANNEL [options]",
        discussion: """
            EXAMPLES
              pusher users presence-room
              pusher users presence-room --no-json | wc -l
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The channel's name, which begins with presence-.")
    var channel: String

    func run() async throws {
        let channel = channel
        for user in try await server.withAPI({ try await $0.users(on: channel) }) {
            try output.print(text: [user.escapingControls], json: [("id", PrintedJSON.quoted(user))])
        }
    }
}
