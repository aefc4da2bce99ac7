import Foundation
import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@Suite("pusher listen", .serialized, .limited)
struct ListenTests {
    /// Removes the time from JSON, because it differs in each run.
    private func withoutTime(_ line: String?) -> String? {
        line.map { line in
            let start = line.range(of: #"{"time":""#)?.upperBound ?? line.startIndex
            return "{" + line[start...].drop { $0 != "," }.dropFirst()
        }
    }

    @Test(
        "the tool prints events of every kind of channel as JSON lines, and a summary after SIGINT or SIGTERM",
        .needsSodium,
        arguments: [SIGINT, SIGTERM]
    )
    func json(signal: Int32) async throws {
        try await PusherTestServer.withServer { server in
            let channels = ["orders", "private-a", "presence-b", "private-encrypted-c", "cache-d"]
            let run = try ToolRun(["listen"] + channels + server.toolOptions + PusherTestServer.encryptionOptions)
            for channel in channels { await run.waitForError(containing: "subscribed to \(channel)") }
            var lines = run.process.lines.makeAsyncIterator()
            for channel in channels {
                try server.publish(event: "created", data: "{\"id\": 1,\n \"text\":\"ä\"}", to: channel)
                #expect(
                    withoutTime(await lines.next())
                        == #"{"channel":"\#(channel)","event":"created","data":{"id":1,"text":"ä"}}"#
                )
            }
            try server.publish(event: "text", data: "no \"JSON\"", to: "orders")
            #expect(withoutTime(await lines.next()) == #"{"channel":"orders","event":"text","data":"no \"JSON\""}"#)
            run.process.send(signal)
            let result = await run.result()
            #expect(result.status == 0)
            #expect(result.errors.last?.hasPrefix("6 events on 5 channels in ") == true)
        }
    }

    @Test(
        "the tool prints triggered events in each dialect",
        arguments: [.pusher, .soketi, .reverb, .pylon, .ipe, .poxa, .slanger, .pusherFake] as [PusherTestServer.Dialect]
    )
    func dialects(dialect: PusherTestServer.Dialect) async throws {
        var options = PusherTestServer.Options()
        options.dialect = dialect
        try await PusherTestServer.withServer(options: options) { server in
            let channels = ["orders", "private-a", "presence-b"]
            let run = try ToolRun(["listen", "--limit", "3"] + channels + server.toolOptions)
            for channel in channels { await run.waitForError(containing: "subscribed to \(channel)") }
            for channel in channels {
                let result = try await ToolRun.result(["trigger", channel, "created", "</1>"] + server.toolOptions)
                #expect(result.status == 0, "\(result)")
            }
            let result = await run.result()
            #expect(result.status == 0)
            #expect(
                result.lines.map { withoutTime($0) }
                    == channels.map { #"{"channel":"\#($0)","event":"created","data":"</1>"}"# }
            )
        }
    }

    @Test(
        "the tool prints short JSON in one line, long JSON in several lines, and no control characters"
    )
    func text() async throws {
        try await PusherTestServer.withServer { server in
            let run = try ToolRun(["listen", "orders", "--no-json", "--limit", "3"] + server.toolOptions)
            await run.waitForError(containing: "subscribed to orders")
            try server.publish(event: "short", data: #"{"id":1,"is":[true,null]}"#, to: "orders")
            try server.publish(
                event: "long",
                data: #"{"a":"\#(String(repeating: "x", count: 60))","b":[1,{"c":{}}],"d":[]}"#,
                to: "orders"
            )
            try server.publish(event: "bad\u{1B}[2J", data: "\u{1B}[31mred", to: "orders")
            let result = await run.result()
            #expect(result.status == 0)
            let parts = result.lines.map { $0.hasPrefix(" ") ? $0 : String($0.dropFirst(12)) }
            #expect(result.lines.first?.prefix(12).filter { ":.".contains($0) } == "::.")
            #expect(
                parts == [
                    #"  orders  short  {"id": 1, "is": [true, null]}"#, "  orders  long", "  {",
                    #"    "a": "\#(String(repeating: "x", count: 60))","#, #"    "b": ["#, "      1,", "      {",
                    #"        "c": {}"#, "      }", "    ],", #"    "d": []"#, "  }",
                    #"  orders  bad\u{1B}[2J  \u{1B}[31mred"#,
                ]
            )
        }
    }

    @Test("the tool prints only the requested events, and counts only these events toward the limit")
    func filter() async throws {
        try await PusherTestServer.withServer { server in
            let filter = ["--event", "created", "--event", "client-*", "--limit", "2"]
            let run = try ToolRun(["listen", "orders"] + filter + server.toolOptions)
            await run.waitForError(containing: "subscribed to orders")
            for name in ["updated", "created-later", "client-a", "client", "created", "created"] {
                try server.publish(event: name, data: "1", to: "orders")
            }
            let result = await run.result()
            #expect(result.status == 0)
            #expect(
                result.lines.map { withoutTime($0) } == [
                    #"{"channel":"orders","event":"client-a","data":"1"}"#,
                    #"{"channel":"orders","event":"created","data":"1"}"#,
                ]
            )
            #expect(result.errors.last?.hasPrefix("5 events on 1 channel, 2 printed in ") == true, "\(result.errors)")
        }
    }

    @Test("without a connection, the tool says at once why, and connects when the server starts")
    func lateServer() async throws {
        var options = PusherTestServer.Options()
        options.host = LoopbackAddress.ofItsOwn()
        let server = PusherTestServer(options: options)
        try await server.start()
        await server.shutdown()
        let run = try ToolRun(["listen", "orders"] + server.toolOptions)
        await run.waitForError(containing: "Next attempt in ")
        try await server.start()
        await run.waitForError(containing: "subscribed to orders")
        run.process.send(SIGINT)
        let result = await run.result()
        #expect(result.status == 0)
        #expect(result.errors.first { $0.contains("Next attempt") }?.contains("refused") == true, "\(result.errors)")
        await server.shutdown()
    }

    @Test("the tool uses the default key of pusher serve on any port of this machine", .needsSodium)
    func defaultKey() async throws {
        try await PusherTestServer.withServer { server in
            let run = try ToolRun(["listen", "private-encrypted-a", "--limit", "1"] + server.toolOptions)
            await run.waitForError(containing: "subscribed to private-encrypted-a")
            try server.publish(event: "created", data: "hello", to: "private-encrypted-a")
            let result = await run.result()
            #expect(withoutTime(result.lines.first)?.contains(#""data":"hello""#) == true, "\(result)")
        }
    }

    @Test("the tool reports members who join and leave, and a lost connection with its cause")
    func members() async throws {
        try await PusherTestServer.withServer { server in
            let run = try ToolRun(
                ["listen", "presence-room", "--user-id", "ada", "--user-info", #"{"name":"Ada"}"#] + server.toolOptions
            )
            await run.waitForError(containing: "presence-room: 1 member: ada")
            #expect(
                try await server.waitForMember("ada", of: "presence-room", timeout: .patience).userInfo
                    == #"{"name":"Ada"}"#
            )
            let other = try ToolRun(["listen", "presence-room", "--user-id", "bob"] + server.toolOptions)
            await run.waitForError(containing: "presence-room: bob joined")
            other.process.send(SIGINT)
            _ = await other.result()
            await run.waitForError(containing: "presence-room: bob left")
            server.dropConnections()
            await run.waitForError(containing: "Connection lost: ")
            await run.waitForError(containing: "connected to ws://", count: 2)
            run.process.send(SIGINT)
            let result = await run.result()
            #expect(result.status == 0)
            #expect(result.errors.last?.hasPrefix("0 events on 1 channel, 1 reconnect in ") == true)
        }
    }

    @Test("with --auth-url, a backend authorizes subscriptions, and the command stops if the backend refuses")
    func backend() async throws {
        var options = PusherTestServer.Options()
        options.authorizeChannel = { $0.channel == "private-a" ? .allow() : .refuse(status: 403, body: "not you") }
        try await PusherTestServer.withServer(options: options) { server in
            let backend = server.toolOptions + ["--secret", "unknown", "--auth-url", server.url + "/pusher/auth"]
            let run = try ToolRun(["listen", "private-a"] + backend)
            await run.waitForError(containing: "subscribed to private-a")
            run.process.send(SIGINT)
            #expect(await run.result().status == 0)
            let refused = try await ToolRun.result(["listen", "private-a", "private-b"] + backend)
            #expect(refused.status == 1)
            #expect(refused.errors.last?.contains("not you") == true)
            #expect(refused.errors.last?.contains("Check the secret") == false)
        }
    }

    @Test("the tool exits with code 141 when nobody reads its output anymore")
    func closedPipe() async throws {
        try await PusherTestServer.withServer { server in
            let words = (["listen", "orders"] + server.toolOptions).map { ToolRun.quoted($0) }.joined(separator: " ")
            let script = #""$0/pusher" \#(words) 2>/dev/null | head -n 1; echo "status ${PIPESTATUS[0]}""#
            let shell = try ChildProcess("/bin/bash", ["-c", script, ChildProcess.folder.path])
            var lines = shell.lines.makeAsyncIterator()
            try await server.waitForSubscription(to: "orders", timeout: .patience)
            try server.publish(event: "e", data: "1", to: "orders")
            #expect(withoutTime(await lines.next()) == #"{"channel":"orders","event":"e","data":"1"}"#)
            // The tool notices the missing reader when it prints.
            let events = Task {
                while !Task.isCancelled {
                    try server.publish(event: "e", data: "2", to: "orders")
                    await Task.yield()
                }
            }
            #expect(await lines.next() == "status 141")
            events.cancel()
        }
    }

    #if os(Linux)
        @Test("on a terminal, the tool prints text in colours unless NO_COLOR is set", arguments: [false, true])
        func terminal(isColourless: Bool) async throws {
            try await PusherTestServer.withServer { server in
                let arguments = ["listen", "orders", "--limit", "1"] + server.toolOptions
                let command = (["\(ChildProcess.folder.path)/pusher"] + arguments).map { ToolRun.quoted($0) }
                let script =
                    "TERM=xterm NO_COLOR=\(isColourless ? "1" : "") script -qec \(ToolRun.quoted(command.joined(separator: " "))) /dev/null < /dev/null"
                let shell = try ChildProcess("/bin/bash", ["-c", script])
                try await server.waitForSubscription(to: "orders", timeout: .patience)
                try server.publish(event: "created", data: #"{"id":1}"#, to: "orders")
                var lines: [String] = []
                for await line in shell.lines { lines.append(line) }
                #expect(await shell.end() == 0)
                #expect(lines.first?.hasPrefix("Connecting to ws://") == true)
                let event = lines.first { $0.contains("created") } ?? ""
                let coloured =
                    "\u{1B}[36morders\u{1B}[0m  \u{1B}[1mcreated\u{1B}[0m  {\u{1B}[34m\"id\"\u{1B}[0m: \u{1B}[33m1\u{1B}[0m}"
                #expect(
                    event.contains(isColourless ? #"  orders  created  {"id": 1}"# : coloured),
                    "\(event.debugDescription)"
                )
                #expect(isColourless == !event.contains("\u{1B}"))
            }
        }

        @Test("on a terminal, JSON escapes the characters that affect the terminal, and keeps its value")
        func terminalJSON() async throws {
            // C1 controls, DEL, marks that change the direction of text, and line separators: JSON allows all of them
            // without an escape.
            let risky = "\u{7F}\u{80}\u{9B}31m\u{9F}\u{202E}\u{2066}\u{200F}\u{2028}\u{2029}"
            let text = "a\(risky)é🦊"
            for isTerminal in [true, false] {
                try await PusherTestServer.withServer { server in
                    let arguments = ["listen", "orders", "--json", "--limit", "1"] + server.toolOptions
                    let command = (["\(ChildProcess.folder.path)/pusher"] + arguments).map { ToolRun.quoted($0) }
                        .joined(separator: " ")
                    let script = isTerminal ? "script -qec \(ToolRun.quoted(command)) /dev/null" : command
                    let shell = try ChildProcess("/bin/bash", ["-c", "\(script) < /dev/null"])
                    try await server.waitForSubscription(to: "orders", timeout: .patience)
                    try server.publish(event: text, data: #"{"text":"\#(text)"}"#, to: "orders")
                    var lines: [String] = []
                    for await line in shell.lines { lines.append(line) }
                    #expect(await shell.end() == 0)
                    let line = try #require(lines.first { $0.contains(#""channel":"orders""#) })
                    let escaped = #"a\u007F\u0080\u009B31m\u009F\u202E\u2066\u200F\u2028\u2029é🦊"#
                    #expect(line.contains(#""event":"\#(isTerminal ? escaped : text)""#), "\(line.debugDescription)")
                    let isRisky = line.unicodeScalars.contains { $0.value > 0x7E && risky.unicodeScalars.contains($0) }
                    #expect(isRisky != isTerminal)
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(object?["event"] as? String == text)
                    #expect((object?["data"] as? [String: String])?["text"] == text)
                }
            }
        }
    #endif
}
