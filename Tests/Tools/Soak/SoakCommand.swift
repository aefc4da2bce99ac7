import ArgumentParser

/// Long runs. Each prints its measurements, and fails if one exceeds its limits.
@main
struct SoakCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "soak",
        abstract: "Loses connections again and again, or receives more than listeners take, and measures what is left.",
        subcommands: [
            ReconnectsCommand.self, HerdCommand.self, BurstCommand.self, EventStreamsCommand.self, SignalRCommand.self,
        ]
    )
}

/// An error that consists of a text.
struct ExitMessage: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
