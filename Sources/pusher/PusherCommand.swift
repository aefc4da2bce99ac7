import ArgumentParser

/// The command-line tool of the package.
@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pusher",
        abstract: "Shows what PusherClient does, and serves what tests it.",
        subcommands: [DemoCommand.self, ServeCommand.self]
    )
}
