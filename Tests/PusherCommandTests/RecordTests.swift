import Foundation
import PusherTestServer
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@Suite("pusher listen --record and pusher serve --replay", .serialized, .limited)
struct RecordTests {
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// The channel, the event and the data of a line of JSON.
    private func words(_ lines: [String]) -> [String] {
        lines.compactMap { line in
            guard let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
                return nil
            }
            return "\(value["channel"] ?? "") \(value["event"] ?? "") \(value["data"] ?? "")"
        }
    }

    @Test("a recording plays back to a client that subscribes, with the recorded data")
    func roundTrip() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("recording.jsonl").path
            var recorded: [String] = []
            try await PusherTestServer.withServer { server in
                let channels = ["orders", "private-a", "presence-b"]
                let listen = try ToolRun(["listen", "--record", file, "--limit", "6"] + channels + server.toolOptions)
                for channel in channels { await listen.waitForError(containing: "subscribed to \(channel)") }
                try server.join("ben", in: "presence-b")
                for number in 1...2 {
                    for channel in channels {
                        try server.publish(event: "created", data: "</\(number)> \"ä\"", to: channel)
                    }
                }
                let result = await listen.result()
                #expect(result.status == 0)
                recorded = words(result.lines)
            }
            #expect(recorded.count == 6)
            let recording = try PusherTestServer.Recording(contentsOfFile: file)
            #expect(recording.events.map(\.name).count { $0 == "created" } == 6)
            #expect(recording.events.first?.name == "pusher:member_added")
            #expect(recording.events.map(\.time) == recording.events.map(\.time).sorted())
            #expect(!recording.text.contains("app-secret") && !recording.text.contains("app-key"))

            let serve = try ToolRun(["serve", "--port", "0", "--no-console", "--replay", file, "--speed", "1000000"])
            var port = ""
            var lines = serve.process.lines.makeAsyncIterator()
            while let line = await lines.next(), line != "ready" {
                if line.hasPrefix("port ") { port = String(line.dropFirst(10)) }
            }
            // The tool subscribes to all channels at once, so the replay begins after all subscriptions.
            let listen = try ToolRun(
                ["listen", "orders", "--event", "created", "--limit", "2", "--url", "ws://127.0.0.1:\(port)"]
                    + ["--timeout", "280"]
            )
            let played = await listen.result()
            #expect(played.status == 0)
            #expect(words(played.lines) == recorded.filter { $0.hasPrefix("orders ") })
            #expect(await lines.next() == "replaying \(recording.events.count) events")
            #expect(await lines.next() == "replayed")
            serve.process.send(SIGTERM)
            #expect(await serve.result().status == 0)
        }
    }

    @Test("the tool does not replace a file, and says so before it connects")
    func existingFile() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("precious").path
            try Data("mine".utf8).write(to: URL(fileURLWithPath: file))
            let result = try await ToolRun.result(["listen", "orders", "--record", file, "--url", "ws://127.0.0.1:1"])
            #expect(result.status != 0)
            #expect(
                result.errors == ["Error: Cannot record to \"\(file)\": the file exists already. Name another file."]
            )
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Data("mine".utf8))
        }
    }

    @Test("the tool leaves no file if it fails before the first event")
    func failedRecording() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("empty.jsonl").path
            let command = ["listen", "orders", "--record", file, "--url", "ws://127.0.0.1:1", "--timeout", "0.1"]
            let result = try await ToolRun.result(command)
            #expect(result.status != 0)
            #expect(result.errors.contains { $0.contains("No connection") }, "\(result)")
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    }

    @Test("the tool rejects a broken recording, a missing file, and a speed that makes no sense")
    func invalid() async throws {
        try await withFolder { folder in
            let file = folder.appendingPathComponent("broken.jsonl").path
            try Data("{\"recording\":\"pusher\",\"version\":1}\n{\"time\":0}\n".utf8).write(
                to: URL(fileURLWithPath: file)
            )
            let broken = try await ToolRun.result(["serve", "--port", "0", "--replay", file])
            #expect(broken.status != 0)
            #expect(broken.errors.contains { $0.contains("Invalid recording: line 2 has no channel.") }, "\(broken)")
            let missing = try await ToolRun.result(["serve", "--port", "0", "--replay", file + "x"])
            #expect(missing.status != 0)
            #expect(missing.errors.contains { $0.contains("not read") }, "\(missing)")
            for options in [["--speed", "2"], ["--replay", file, "--speed", "0"]] {
                let result = try await ToolRun.result(["serve", "--port", "0"] + options)
                #expect(result.errors.contains { $0.contains("--speed") }, "\(result)")
            }
        }
    }
}
