import ArgumentParser
import Foundation
import WebSocketClient

/// Runs the cases of an Autobahn fuzzing server, one connection for each case, and echoes each message.
@main
struct AutobahnClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "autobahn-client",
        abstract: "Runs WebSocketClient against an Autobahn fuzzing server."
    )

    @Argument(help: "The URL of the server, in the form ws://HOST:PORT.")
    var url: String

    @Option(help: "The client's name in the reports.")
    var agent = "WebSocketClient"

    @Option(help: "The time limit of a case, in seconds.")
    var caseSeconds = 600

    @Option(help: "The number of cases that the server must have.")
    var expected: Int?

    // With UNIMPLEMENTED, a case of compression says that nothing was compressed.
    private static let goodBehaviors: Set<String> = ["OK", "NON-STRICT", "INFORMATIONAL"]

    /// The server's result of a case.
    private struct Answer: Decodable {
        var behavior: String?
        var id: String?
    }

    func run() async throws {
        guard let answer = try await visit("/getCaseCount"), let count = Int(answer), count > 0 else {
            throw ValidationError("The server did not report its number of cases.")
        }
        if let expected, count != expected {
            throw ValidationError("The server has \(count) cases instead of \(expected).")
        }
        var failures: [String] = []
        var counts: [String: Int] = [:]
        for number in 1...count {
            do {
                _ = try await visit("/runCase?case=\(number)&agent=\(agent)", echo: true)
                let behavior = try await ask("/getCaseStatus?case=\(number)&agent=\(agent)").behavior ?? "unknown"
                counts[behavior, default: 0] += 1
                guard !Self.goodBehaviors.contains(behavior) else { continue }
                failures.append("case \(try await ask("/getCaseInfo?case=\(number)").id ?? "\(number)"): \(behavior)")
            } catch {
                failures.append("case number \(number): \(error)")
            }
        }
        _ = try await visit("/updateReports?agent=\(agent)")
        let summary = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print("\(count) cases: \(summary)")
        for failure in failures { print(failure) }
        if !failures.isEmpty { throw ExitCode.failure }
    }

    private func ask(_ path: String) async throws -> Answer {
        try JSONDecoder().decode(Answer.self, from: Data((try await visit(path) ?? "").utf8))
    }

    /// Opens the path, waits until the connection closes, and returns the last text message.
    private func visit(_ path: String, echo: Bool = false) async throws -> String? {
        var options = WebSocketOptions()
        // The cases of sections 12 and 13 test the compression of messages of every size.
        options.compression = WebSocketCompression(threshold: 0)
        let webSocket = try await WebSocket.connect(to: url + path, options: options)
        let limit = Task {
            try await Task.sleep(for: .seconds(caseSeconds))
            try webSocket.close()
        }
        defer { limit.cancel() }
        var last: String?
        do {
            for try await message in webSocket.messages {
                if echo { try await webSocket.send(message) }
                if case .text(let text) = message { last = text }
            }
        } catch {
            // A case may end with an error. The server decides whether the error is correct.
        }
        return last
    }
}
