import Foundation
internal import SignalRTestServer

/// Runs the hub until the process ends: `test-hub PORT`.
@main enum Command {
    static func main() async throws {
        let hub = try await TestHub.start(port: CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 0)
        // The server would shut down if nothing referred to it.
        defer { withExtendedLifetime(hub) {} }
        print("ready on \(hub.server.port)")
        // Otherwise, a script that waits for the line would not see it in a pipe.
        fflush(nil)
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}
