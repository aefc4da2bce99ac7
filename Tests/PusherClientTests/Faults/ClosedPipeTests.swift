import ClientTestSupport
import Foundation
import PusherClient
import TestSupport
import TestTraits
import Testing

@Suite("The tool when no program reads its output", .limited)
struct ClosedPipeTests {
    /// The exit status of a program that a broken pipe stops.
    private static let brokenPipe = "status 141"

    /// Runs a shell command, in which `$0` is the folder of the tool.
    private func run(_ line: String) throws -> ChildProcess {
        let script = "\(line); echo \"status ${PIPESTATUS[0]}\""
        return try ChildProcess("/bin/bash", ["-c", script, ChildProcess.folder.path], showsErrors: true)
    }

    @Test("pusher demo exits without an error message when the pipe is closed")
    func demo() async throws {
        let shell = try run(#""$0/pusher" demo | head -n 1"#)
        var lines: [String] = []
        for await line in shell.lines { lines.append(line) }
        #expect(lines.count == 2)
        #expect(lines.first?.contains("listens on") == true)
        #expect(lines.last == Self.brokenPipe)
    }

    @Test("pusher serve stops its server, and exits without an error message, when the pipe is closed")
    func serve() async throws {
        let shell = try run(#""$0/pusher" serve --port 0 --verbose | head -n 12"#)
        var lines = shell.lines.makeAsyncIterator()
        var values: [Substring: Substring] = [:]
        while let line = await lines.next(), line != "ready" {
            let words = line.split(separator: " ", maxSplits: 1)
            if let name = words.first, let value = words.last { values[name] = value }
        }
        let port = try #require(values["port"].flatMap { Int($0.trimmingCharacters(in: .whitespaces)) })
        // The tool notices the broken pipe only when it prints, so the test connects clients.
        let visits = Task {
            while !Task.isCancelled {
                let options = PusherClientOptions(
                    autoReconnect: false,
                    host: .host("127.0.0.1"),
                    port: port,
                    useTLS: false,
                    logger: .quiet
                )
                let pusher = Pusher(key: "app-key", options: options)
                _ = try? await pusher.connected()
                await pusher.disconnected()
            }
        }
        var others: [String] = []
        while let line = await lines.next() { others.append(line) }
        visits.cancel()
        await visits.value
        #expect(others == [Self.brokenPipe])
    }

    #if os(Linux)
        @Test("the tool fails with a message if the disk is full")
        func fullDisk() async throws {
            let shell = try run(#""$0/pusher" demo > /dev/full"#)
            var lines: [String] = []
            for await line in shell.lines { lines.append(line) }
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("Error: Output not written: ") == true)
            #expect(lines.last == "status 1")
        }
    #endif
}
