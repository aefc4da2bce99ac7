import ArgumentParser
import PusherClient
import PusherProtocol
import PusherServerAPI

struct ListenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "listen",
        abstract: "Print the events on channels as they arrive.",
        usage: "pusher listen CHANNEL ... [options]",
        discussion: """
            Prints events as they arrive. With --json, or if the output is a file or a pipe, the command prints JSON. On a \
            terminal, it prints text for people. On the standard error, it reports the connection, its losses, and the members \
            who join and leave presence channels. Control-C ends the command with a summary.

            The command authorizes private, presence and encrypted channels with the secret. With --auth-url, your backend \
            authorizes them.

            EXAMPLES
              pusher listen orders
              pusher listen orders private-chat --event created --event 'client-*'
              pusher listen presence-room --user-id ada --user-info '{"name": "Ada"}'
              pusher listen private-chat --auth-url http://127.0.0.1:8000/broadcasting/auth
              pusher listen orders --limit 1 | jq .data
              pusher listen orders presence-room --record today.jsonl
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The channels' names.")
    var channels: [String]

    @Option(
        name: .customLong("event"),
        help: ArgumentHelp(
            "Print only events with this name. An asterisk at the end of the name matches any text. Can be repeated.",
            valueName: "name"
        )
    )
    var names: [String] = []

    @Option(help: "Stop after printing this many events.")
    var limit: Int?

    @Option(
        help: ArgumentHelp(
            """
            Also record all events of the channels in a new file, for pusher serve --replay. The file contains no secrets, \
            but the data of encrypted channels is readable in it.
            """,
            valueName: "file"
        )
    )
    var record: String?

    @Option(
        help: ArgumentHelp(
            "The URL of your backend's authorization endpoint, instead of the secret.",
            valueName: "url"
        )
    )
    var authURL: String?

    @Option(help: ArgumentHelp("Your user id on presence channels. Default: the socket id.", valueName: "id"))
    var userID: String?

    @Option(help: ArgumentHelp("Your user info on presence channels.", valueName: "json"))
    var userInfo: String?

    func validate() throws {
        for channel in channels {
            do throws(ChannelName.ValidationError) {
                _ = try ChannelName(channel)
            } catch {
                throw ValidationError("Invalid channel name \(channel.quoted): \(error).")
            }
        }
        if let limit, limit < 1 { throw ValidationError("--limit takes a number greater than 0.") }
        if userInfo != nil, userID == nil { throw ValidationError("--user-info needs --user-id.") }
        if let userInfo, PrintedJSON(userInfo) == nil { throw ValidationError("--user-info takes JSON.") }
        if authURL != nil, userID != nil {
            throw ValidationError("--user-id and --auth-url exclude each other: your backend identifies the user.")
        }
    }

    func run() async throws {
        let server = try server.server
        let listening = Listening(
            server: server,
            pusher: makeClient(of: server),
            channels: channels,
            names: names,
            limit: limit,
            timeLimit: self.server.timeLimit,
            output: output,
            recordingPath: record
        )
        try await listening.run()
    }

    private func makeClient(of server: Server) -> Pusher {
        let timeLimit = self.server.timeLimit
        let authMethod: AuthMethod
        if let authURL {
            authMethod = .endpoint(authURL)
        } else if let key = server.application.encryptionMasterKey {
            authMethod = .inline(secret: server.application.secret, encryptionMasterKey: key)
        } else {
            authMethod = .inline(secret: server.application.secret)
        }
        let options = PusherClientOptions(
            endpoint: PusherEndpoint(host: server.host, port: server.port, path: server.path, useTLS: server.useTLS)
        )
        options.authMethod = authMethod
        options.timeouts.connectionAttempt = timeLimit
        options.timeouts.subscription = timeLimit
        options.timeouts.authorization = timeLimit
        options.logger = .silent
        let pusher = Pusher(key: server.application.key, options: options)
        if let userID {
            let member = PusherPresenceChannelMember(userId: userID, userInfoText: userInfo)
            pusher.connection.userDataFetcher = { member }
        }
        return pusher
    }
}
