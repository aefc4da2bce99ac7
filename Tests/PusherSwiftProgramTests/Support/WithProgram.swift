import PusherTestServer
import TestSupport

/// Runs a server, and a program that uses the server.
///
/// - Parameter body: A closure that gets the server, the settings for the program, and the program's journal.
@discardableResult
func withProgram<Result>(
    options: PusherTestServer.Options = .init(),
    _ body: (PusherTestServer, Settings, Journal) async throws -> Result
) async throws -> Result {
    DefaultLogger.silence()
    return try await PusherTestServer.withServer(options: options) { server in
        try await body(server, Settings(server), Journal())
    }
}
