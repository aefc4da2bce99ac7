import ArgumentParser
import Foundation
import PusherServerAPI

struct ChannelCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channel",
        abstract: "Show the state of a channel.",
        usage: "pusher channel CHANNEL [options]",
        discussion: """
            EXAMPLES
              pusher channel orders
              pusher channel presence-room --json

            The counts and the cached event are missing if the server does not report them.
            """
    )

    @OptionGroup var server: ServerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: "The channel's name.")
    var name: String

    func run() async throws {
        let name = name
        var info: PusherServerAPI.ChannelInfo = [.subscriptionCount]
        if name.hasPrefix("presence-") { info.insert(.userCount) }
        if ["cache-", "private-cache-", "private-encrypted-cache-", "presence-cache-"].contains(where: name.hasPrefix) {
            info.insert(.cache)
        }
        let state = try await server.withAPI { [info] api in try await api.channel(name, info: info) }
        try output.print(text: lines(of: state), json: members(of: state))
    }

    private func lines(of state: PusherServerAPI.ChannelState) -> [String] {
        let rows: [(String, String?)] = [
            ("channel", output.style.paint(name, .channel)), ("occupied", state.isOccupied.map { $0 ? "yes" : "no" }),
            ("subscriptions", state.subscriptionCount.map { "\($0)" }), ("users", state.userCount.map { "\($0)" }),
            ("cached for", state.cachedEvent?.timeToLive.map { "\($0.components.seconds) s" }),
            ("cached data", state.cachedEvent.map { describe(data: $0.data, output.style) }),
        ]
        return rows.compactMap { title, value in
            value.map { "\(title.padding(toLength: 13, withPad: " ", startingAt: 0))  \($0)" }
        }
    }

    private func members(of state: PusherServerAPI.ChannelState) -> [(String, String?)] {
        [
            ("channel", PrintedJSON.quoted(name)), ("occupied", state.isOccupied.map { "\($0)" }),
            ("subscription_count", state.subscriptionCount.map { "\($0)" }),
            ("user_count", state.userCount.map { "\($0)" }),
            (
                "cache",
                state.cachedEvent.map { event in
                    JSONLine.object([
                        ("data", describe(json: event.data)),
                        ("ttl", event.timeToLive.map { "\($0.components.seconds)" }),
                    ])
                }
            ),
        ]
    }
}

/// Formats the data of an event for people.
func describe(data: String, _ style: TextStyle) -> String {
    PrintedJSON(data)?.pretty(style) ?? data.escapingControls
}

/// Formats the data of an event as JSON. Objects and arrays stay unchanged, and all other data becomes a string.
func describe(json data: String) -> String {
    if let json = PrintedJSON(data), json.isContainer { json.compact } else { PrintedJSON.quoted(data) }
}
