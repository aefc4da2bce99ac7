import ClientTestSupport
import Foundation
import Logging
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("pusher trigger, channels, channel and users", .serialized, .limited)
struct RequestCommandTests {
    private func withClient(
        channels: [String],
        _ body: (PusherTestServer, Pusher, [PusherChannel]) async throws -> Void
    ) async throws {
        try await PusherTestServer.withServer { server in
            let pusher = Pusher(
                key: server.options.application.key,
                options: PusherClientOptions(
                    authMethod: .endpoint(server.url + "/pusher/auth"),
                    host: .host(server.host),
                    port: server.port,
                    useTLS: false,
                    userAuthMethod: .endpoint(server.url + "/pusher/user-auth"),
                    timeouts: .patient,
                    logger: Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() }
                )
            )
            pusher.connect()
            let subscribed = channels.map { pusher.subscribe($0) }
            for channel in subscribed { try await channel.subscribed() }
            try await body(server, pusher, subscribed)
            await pusher.disconnected()
        }
    }

    // MARK: Reading

    @Test("the commands print channels, one channel and its users, as text and as JSON")
    func states() async throws {
        try await withClient(channels: ["orders", "presence-room"]) { server, pusher, _ in
            let me = pusher.connection.socketId ?? ""
            for (arguments, text, json) in [
                (
                    ["channels"], ["orders", "presence-room"],
                    [#"{"channel":"orders"}"#, #"{"channel":"presence-room"}"#]
                ),
                (
                    ["channels", "--prefix", "presence-", "--count"], ["presence-room  1 user"],
                    [#"{"channel":"presence-room","user_count":1}"#]
                ),
                (
                    ["channel", "presence-room"],
                    ["channel        presence-room", "occupied       yes", "subscriptions  1", "users          1"],
                    [#"{"channel":"presence-room","occupied":true,"subscription_count":1,"user_count":1}"#]
                ),
                (
                    ["channel", "empty"], ["channel        empty", "occupied       no", "subscriptions  0"],
                    [#"{"channel":"empty","occupied":false,"subscription_count":0}"#]
                ),
                (["users", "presence-room"], [me], [#"{"id":"\#(me)"}"#]),
                (["users", "presence-empty"], [], []),
            ] {
                let plain = try await ToolRun.result(arguments + server.toolOptions + ["--no-json"])
                #expect(plain == .init(status: 0, lines: text))
                // The default for a pipe is JSON.
                #expect(try await ToolRun.result(arguments + server.toolOptions) == .init(status: 0, lines: json))
            }
        }
    }

    @Test("the command shows the cached event of a channel")
    func cache() async throws {
        try await PusherTestServer.withServer { server in
            try server.publish(event: "e", data: #"{"id": 1}"#, to: "cache-a")
            let result = try await ToolRun.result(["channel", "cache-a"] + server.toolOptions)
            #expect(result.status == 0)
            #expect(result.lines.first?.contains(#""cache":{"data":{"id":1},"ttl":1"#) == true, "\(result)")
        }
    }

    // MARK: Triggering

    @Test("the tool sends data from an argument, a file or the standard input, without the last line break")
    func data() async throws {
        try await withClient(channels: ["orders"]) { server, _, channels in
            var events = channels[0].events(named: "created").makeAsyncIterator()
            let text = #"{"text": "ä'\"$HOME", "n": 1.50}"#
            let argument = try await ToolRun.result(["trigger", "orders", "created", text] + server.toolOptions)
            #expect(argument == .init(status: 0, lines: [#"{"event":"created","channel":"orders"}"#]))
            #expect(await events.next()?.data == text)
            let input = try await ToolRun.result(
                ["trigger", "orders", "created", "--no-json"] + server.toolOptions,
                input: "one\ntwo\n"
            )
            #expect(input == .init(status: 0, lines: [#"Triggered "created" on orders."#]))
            #expect(await events.next()?.data == "one\ntwo")
            let file = NSTemporaryDirectory() + UUID().uuidString
            try Data("from a file\r\n".utf8).write(to: URL(fileURLWithPath: file))
            defer { try? FileManager.default.removeItem(atPath: file) }
            let result = try await ToolRun.result(
                ["trigger", "orders", "created", "--file", file] + server.toolOptions
            )
            #expect(result.status == 0)
            #expect(await events.next()?.data == "from a file")
        }
    }

    @Test("the tool triggers events on an encrypted channel, for a user, and with an excluded connection", .needsSodium)
    func targets() async throws {
        try await withClient(channels: ["private-encrypted-a", "orders"]) { server, pusher, channels in
            var secrets = channels[0].events(named: "e").makeAsyncIterator()
            let encrypted = ["trigger", "private-encrypted-a", "e", "hush", "--encrypted"]
            let result = try await ToolRun.result(encrypted + server.toolOptions + PusherTestServer.encryptionOptions)
            #expect(result.status == 0)
            #expect(await secrets.next()?.data == "hush")
            let keyless = try await ToolRun.result(encrypted + ["--url", "ws://keyless.invalid"])
            #expect(keyless.status == 64)
            #expect(
                keyless.errors == [
                    "Error: The channel is encrypted, but there is no key. Give --encryption-key."
                ]
            )

            var greetings = pusher.user.events(named: "greeting").makeAsyncIterator()
            pusher.signIn()
            try await pusher.signedIn()
            let user = pusher.connection.socketId ?? ""
            #expect(
                try await ToolRun.result(["trigger", "--user", user, "greeting", "hi"] + server.toolOptions).status == 0
            )
            #expect(await greetings.next()?.data == "hi")

            var orders = channels[1].events(named: "e").makeAsyncIterator()
            let trigger = ["trigger", "orders", "e"]
            #expect(try await ToolRun.result(trigger + ["1", "--socket-id", user] + server.toolOptions).status == 0)
            #expect(try await ToolRun.result(trigger + ["2"] + server.toolOptions).status == 0)
            #expect(await orders.next()?.data == "2")
        }
    }

    @Test("the tool sends a batch of 25 events in order, in the format that pusher listen prints")
    func batch() async throws {
        try await withClient(channels: ["orders"]) { server, _, channels in
            var events = channels[0].events(named: "created").makeAsyncIterator()
            // U+2028 is a line break in text, but not between lines of JSON.
            let lines = (1...25).map { number in
                number % 2 == 0
                    ? #"{"time":"now","channel":"orders","event":"created","data":{"id": \#(number)}}"#
                    : #"{"channel":"orders","event":"created","data":"\#(number)\#u{2028}"}"#
            }
            let result = try await ToolRun.result(
                ["trigger", "--batch"] + server.toolOptions,
                input: lines.joined(separator: "\n") + "\n"
            )
            #expect(result == .init(status: 0, lines: [#"{"triggered":25}"#]))
            for number in 1...25 {
                #expect(await events.next()?.data == (number % 2 == 0 ? #"{"id": \#(number)}"# : "\(number)\u{2028}"))
            }
        }
    }

    @Test(
        "the tool names an invalid line of a batch and triggers no event",
        arguments: [
            ("no JSON", "it is not a JSON object"), (#"{"event":"e","data":""}"#, "it has no channel"),
            (#"{"channel":"a","data":""}"#, "it has no event"), (#"{"channel":"a","event":"e"}"#, "it has no data"),
        ]
    )
    func badBatch(line: String, reason: String) async throws {
        try await PusherTestServer.withServer { server in
            let good = #"{"channel":"a","event":"e","data":"{}"}"#
            let result = try await ToolRun.result(
                ["trigger", "--batch"] + server.toolOptions,
                input: "\(good)\r\n\n\(line)\n"
            )
            #expect(result.status == 64)
            #expect(result.errors == ["Error: Line 3 of the batch cannot be used: \(reason). Nothing was triggered."])
            #expect(server.records.isEmpty)
        }
    }

    @Test(
        "the tool exits with code 64 and an instruction after wrong usage",
        arguments: [
            (["trigger", "a"], "Give CHANNEL and EVENT"), (["trigger", "a", "e", "d", "x"], "Give CHANNEL and EVENT"),
            (["trigger", "--user", "u"], "With --user, give EVENT"),
            (["trigger", "a b", "e", "d"], "Invalid channel name"),
            (["trigger", "a", "e", "d", "--file", "f"], "exclude each other"),
            (["trigger", "--batch", "a"], "--batch takes no"),
            (["trigger", "a", "e", "d", "--encrypted"], "private-encrypted-"), (["users", "orders"], "presence-"),
            (["channels", "--count"], "--prefix presence-"), (["channel"], "name"), (["listen"], "channels"),
            (["listen", "a b"], "is not one of A-Z"), (["listen", "a", "--limit", "0"], "--limit"),
            (["channels", "--url", "6001"], "--url takes an address"),
            (["channels", "--url", "ftp://a"], "use ws or wss"),
            (["channels", "--url", "ws://a", "--cluster", "eu"], "exclude each other"),
            (["channels", "--cluster", "a/b"], "cluster"),
            (["channels", "--cluster", ""], #"Invalid cluster "": it is empty."#),
            (["channels", "--cluster", "ws-eu.pusher.com"], "a cluster has no dot. Use the name in"),
            (["channels", "--timeout", "0"], "--timeout"), (["channels", "--key", ""], "Invalid app key"),
            (["trigger", "a", "e", "d", "--socket-id", "1"], "Invalid socket id"), (["authorize"], "--socket-id"),
            (["lisen"], #"Unknown command "lisen". Did you mean "listen"?"#),
            (["chan"], #"Did you mean "channels" or "channel"?"#), (["telephone"], #"Unknown command "telephone"."#),
        ]
    )
    func usage(arguments: [String], text: String) async throws {
        let result = try await ToolRun.result(arguments)
        #expect(result.status == 64)
        #expect(result.errors.first?.hasPrefix("Error: ") == true)
        #expect(result.errors.first?.contains(text) == true, "\(result.errors)")
        #expect(result.lines.isEmpty)
    }

    @Test("the tool prints its version")
    func version() async throws {
        let result = try await ToolRun.result(["--version"])
        #expect(result.status == 0)
        #expect(result.lines.count == 1)
        #expect(result.lines.first?.wholeMatch(of: #/[0-9]+\.[0-9]+\.[0-9]+/#) != nil, "\(result.lines)")
    }

    @Test(
        "each usage of a command has one line of at most 100 characters",
        arguments: ["listen", "trigger", "channels", "channel", "users", "authorize", "serve", "demo"]
    )
    func usageLines(command: String) async throws {
        let help = try await ToolRun.result(["help", command])
        let start = try #require(help.lines.firstIndex { $0.hasPrefix("USAGE: ") })
        let usage = help.lines[start...].prefix { !$0.isEmpty }
        #expect(usage.allSatisfy { $0.count <= 100 && $0.contains("pusher \(command)") }, "\(usage)")
    }

    // MARK: Environment

    @Test(
        "options have priority over environment variables, and the tool ignores empty variables"
    )
    func environment() async throws {
        var options = PusherTestServer.Options()
        options.application = .init(id: "7", key: "other-key", secret: "other-secret")
        try await PusherTestServer.withServer(options: options) { server in
            var environment = [
                "PUSHER_HOST": server.host, "PUSHER_PORT": "\(server.port)", "PUSHER_SCHEME": "http",
                "PUSHER_APP_ID": "7",
                "PUSHER_APP_KEY": "other-key", "PUSHER_APP_SECRET": "other-secret", "PUSHER_APP_CLUSTER": "eu",
            ]
            let long = ["channels", "--timeout", "280"]
            #expect(try await ToolRun.result(long, environment: environment).status == 0)
            environment["PUSHER_APP_KEY"] = "wrong"
            #expect(try await ToolRun.result(long, environment: environment).status == 1)
            #expect(try await ToolRun.result(long + ["--key", "other-key"], environment: environment).status == 0)
            environment = ["PUSHER_HOST": "", "PUSHER_PORT": "\(server.port)", "PUSHER_SCHEME": ""]
            let credentials = ["--app-id", "7", "--key", "other-key", "--secret", "other-secret"]
            #expect(try await ToolRun.result(long + credentials, environment: environment).status == 0)
            let bad = try await ToolRun.result(long, environment: ["PUSHER_PORT": "many"])
            #expect(bad.status == 64)
            #expect(bad.errors.first == #"Error: PUSHER_PORT is "many", which is not a number."#)
        }
    }
}

extension PusherTimeouts {
    /// Timeouts that no command reaches.
    fileprivate static var patient: Self {
        Self(connectionAttempt: .patience, subscription: .patience, authorization: .patience, signIn: .patience)
    }
}
