import Foundation
import NIOCore
import NIOPosix
import PusherClient

/// Takes the cases of an Autobahn fuzzing server, one connection a case, and echoes whatever message comes.
struct AutobahnClient {
    private let host: String
    private let port: Int
    private let useTLS: Bool

    init?(_ url: URL) {
        guard let scheme = url.scheme, ["ws", "wss"].contains(scheme), let host = url.host else { return nil }
        self.host = host
        self.useTLS = scheme == "wss"
        self.port = url.port ?? (useTLS ? 443 : 80)
    }

    struct Trouble: Error, CustomStringConvertible {
        var description: String
    }

    /// Runs every case, prints how the server judges them, and says which did not come to a good end.
    func run(agent: String, secondsPerCase: Int) async throws -> [String] {
        guard let agent = agent.addingPercentEncoding(withAllowedCharacters: .alphanumerics) else {
            throw Trouble(description: "the agent's name cannot be part of a URL")
        }
        let limit = TimeAmount.seconds(Int64(secondsPerCase))
        guard let answer = try await visit("/getCaseCount", echo: false, limit: limit), let count = Int(answer),
            count > 0
        else {
            throw Trouble(description: "the server has no cases, or did not tell how many")
        }
        var failures: [String] = []
        var counts: [String: Int] = [:]
        for number in stride(from: 1, through: count, by: 1) {
            do {
                let query = "case=\(number)&agent=\(agent)"
                _ = try await visit("/runCase?\(query)", echo: true, limit: limit)
                let status = try await visit("/getCaseStatus?\(query)", echo: false, limit: limit)
                let behavior = try Self.field("behavior", status)
                counts[behavior, default: 0] += 1
                guard !Self.goodBehaviors.contains(behavior) else { continue }
                let info = try await visit("/getCaseInfo?case=\(number)", echo: false, limit: limit)
                failures.append("case \(try Self.field("id", info)): \(behavior)")
            } catch {
                failures.append("case number \(number): \(error)")
            }
        }
        _ = try await visit("/updateReports?agent=\(agent)", echo: false, limit: limit)
        let summary = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        print("\(count) cases: \(summary)")
        return failures
    }

    private static let goodBehaviors: Set<String> = ["OK", "NON-STRICT", "INFORMATIONAL", "UNIMPLEMENTED"]

    private static func field(_ name: String, _ json: String?) throws -> String {
        let object = try JSONSerialization.jsonObject(with: Data((json ?? "").utf8))
        guard let value = (object as? [String: Any])?[name] as? String else {
            throw Trouble(description: "the server's answer has no '\(name)'")
        }
        return value
    }

    /// Opens the path, waits for the connection's end, and gives the last text that came.
    private func visit(_ path: String, echo: Bool, limit: TimeAmount) async throws -> String? {
        let transport = WebSocketTransport()
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let request = TransportRequest(host: host, port: port, useTLS: useTLS, path: path)
        return try await eventLoop.flatSubmit { () -> EventLoopFuture<String?> in
            let end = eventLoop.makePromise(of: String?.self)
            let visit = NIOLoopBound(Visit(end: end, echo: echo), eventLoop: eventLoop)
            let connection = transport.connect(to: request, on: eventLoop) { visit.value.receive($0) }
            visit.value.connection = connection
            let timer = eventLoop.scheduleTask(in: limit) {
                connection.abort()
                end.fail(Trouble(description: "no end within \(limit)"))
            }
            end.futureResult.whenComplete { _ in timer.cancel() }
            return end.futureResult
        }.get()
    }
}

/// One connection to the server.
private final class Visit {
    var connection: WebSocketConnection?
    private let end: EventLoopPromise<String?>
    private let echo: Bool
    private var text: String?
    private var isOpen = false

    init(end: EventLoopPromise<String?>, echo: Bool) {
        self.end = end
        self.echo = echo
    }

    func receive(_ event: TransportEvent) {
        switch event {
        case .opened: isOpen = true
        case .text(let bytes):
            let message = String(buffer: bytes)
            if echo { connection?.send(message, promise: nil) } else { text = message }
        case .binary(let bytes):
            if echo { connection?.sendBinary(bytes, promise: nil) }
        case .activity: break
        case .readComplete: connection?.flush()
        case .closed(let closure):
            connection = nil
            // A case may well end with an error: whether it is the right one is for the server to judge.
            if isOpen {
                end.succeed(text)
            } else {
                end.fail(closure.error ?? AutobahnClient.Trouble(description: "not opened"))
            }
        }
    }
}
