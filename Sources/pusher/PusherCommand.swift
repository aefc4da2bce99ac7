import ArgumentParser
import PusherClient
import RealtimePrimitives

/// The command-line tool of the package.
@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pusher",
        abstract:
            "Listens to channels and triggers events on any Pusher Channels server, and runs a test server.",
        discussion: """
            EXAMPLES
              pusher serve                              a server on 127.0.0.1:6001
              pusher listen orders                      in a second terminal
              pusher trigger orders created '{"id":1}'  in a third terminal

            EXIT CODES
              0   done, or ended by Control-C
              1   the server or your backend refused the request, or the connection failed
              2   there was no connection or no answer within --timeout
              64  wrong usage
              141 the output is a closed pipe

            Completion: pusher --generate-completion-script bash (or zsh, fish) prints a script for your shell's script directory.
            """,
        version: packageVersion,
        subcommands: [
            ListenCommand.self, TriggerCommand.self, ChannelsCommand.self, ChannelCommand.self, UsersCommand.self,
            TerminateCommand.self, AuthorizeCommand.self, ServeCommand.self, DemoCommand.self,
        ]
    )

    static func main() async {
        if let error = unknownCommand(CommandLine.arguments.dropFirst().first) { exit(withError: error) }
        await main(nil)
    }

    /// Returns an error for an unknown command, with similar commands. ArgumentParser's own error would not suggest
    /// commands.
    private static func unknownCommand(_ name: String?) -> ValidationError? {
        guard let name, !name.hasPrefix("-") else { return nil }
        let commands = configuration.subcommands.compactMap { $0.configuration.commandName } + ["help"]
        guard !commands.contains(name) else { return nil }
        let similar = commands.filter { $0.hasPrefix(name) || distance(from: Array($0), to: Array(name)) <= 2 }
        let names = similar.map { "\"\($0)\"" }.joined(separator: " or ")
        let suggestion = names.isEmpty ? "" : " Did you mean \(names)?"
        return ValidationError("Unknown command \"\(name.escapingControls)\".\(suggestion)")
    }

    /// Returns how many letters must be inserted, deleted or replaced to turn one word into the other (Levenshtein
    /// distance).
    private static func distance(from word: [Character], to other: [Character]) -> Int {
        var row = Array(0...other.count)
        for (index, letter) in word.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, otherLetter) in other.enumerated() {
                let replaced = diagonal + (letter == otherLetter ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, row[column + 1] + 1)
            }
        }
        return row[other.count]
    }
}
