import ArgumentParser

/// Runs long tests. Each command prints its measurements, and fails if a measurement exceeds its limit.
@main
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Runs long tests of lost connections, bursts, event streams and SignalR, and measures leaks.",
        subcommands: [
            ReconnectsCommand.self, HerdCommand.self, BurstCommand.self, EventStreamsCommand.self, SignalRCommand.self,
            NumbersCommand.self, ProxiesCommand.self,
        ]
    )
}

/// An error with a message for the user.
struct ExitMessage: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
