import ArgumentParser

/// The command-line tool of the package.
@main
struct PusherCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pusher",
        abstract:
            "Listens to channels, triggers events, and serves tests: for every server that speaks Pusher Channels.",
        discussion: """
            EXAMPLES
              pusher serve                              a server on 127.0.0.1:6001
              pusher listen orders                      in a second terminal
              pusher trigger orders created '{"id":1}'  in a third one

            Completion: pusher --generate-completion-script bash (or zsh, fish) prints a script; save it where your shell looks.
            """,
        subcommands: [
            ListenCommand.self, TriggerCommand.self, ChannelsCommand.self, ChannelCommand.self, UsersCommand.self,
            AuthorizeCommand.self, ServeCommand.self, DemoCommand.self,
        ]
    )
}
