import PusherTestServer
import TestSupport

/// Runs a server and a program against it.
///
/// - Parameter body: Receives the server, the settings for the program, and the program's journal.
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
