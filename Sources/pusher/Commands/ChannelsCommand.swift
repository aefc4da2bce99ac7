import ArgumentParser
import PusherServerAPI

struct ChannelsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "List the channels that have a subscriber.",
        usage: "pusher channels [--prefix PREFIX] [--count] [options]",
        discussion: """
            EXAMPLES
              pusher channels
              pusher channels --prefix presence- --count
              pusher channels --cluster eu --app-id 1 --key KEY --secret SECRET

            The list is empty if there is no such channel.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Option(help: "List only channels whose names begin with this prefix.")
    var prefix: String?

    @Flag(help: "Count the users of each channel. The prefix must begin with presence-.")
    var count = false

    func validate() throws {
        guard !count || prefix?.hasPrefix("presence-") == true else {
            throw ValidationError("--count needs --prefix presence-, because only presence channels have users.")
        }
    }

    func run() async throws {
        let (prefix, info): (String?, PusherServerAPI.ChannelInfo) = (prefix, count ? .userCount : [])
        let channels = try await server.withAPI { try await $0.channels(withPrefix: prefix, info: info) }
        for (name, state) in channels.sorted(by: { $0.key < $1.key }) {
            try output.print(
                text: [
                    output.style.paint(name.escapingControls, .channel)
                        + (state.userCount.map { "  \($0) \($0 == 1 ? "user" : "users")" } ?? "")
                ],
                json: [("channel", PrintedJSON.quoted(name)), ("user_count", state.userCount.map { "\($0)" })]
            )
        }
    }
}
