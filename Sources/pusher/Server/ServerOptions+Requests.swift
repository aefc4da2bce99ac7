import ArgumentParser
import Logging
import PusherServerAPI

extension ServerOptions {
    /// Makes requests, and explains a failure in one line.
    func withAPI<Result: Sendable>(
        _ body: @escaping @Sendable (PusherServerAPI) async throws -> Result
    ) async throws -> Result {
        let server = try server
        do {
            let api = try server.makeAPI(timeLimit: timeLimit)
            defer { api.shutdown() }
            return try await withProgress("Waiting for \(server.apiHost):\(server.port)") { try await body(api) }
        } catch let error as PusherServerAPIError where error.code == .missingEncryptionKey {
            throw StandardError.failure(
                "The channel is encrypted, but there is no key. Give --encryption-key.",
                .validationFailure
            )
        } catch let error as PusherServerAPIError {
            let isConnectionFailure = [.connectionFailed, .tlsFailed, .timedOut].contains(error.code)
            let advice = isConnectionFailure ? server.schemeAdvice : ""
            throw StandardError.failure(error.message + advice, error.exitCode)
        }
    }
}

extension PusherServerAPIError {
    fileprivate var exitCode: ExitCode {
        switch code {
        case .timedOut: .noConnection
        case .invalidOption, .invalidEncryptionKey, .missingEncryptionKey, .invalidEventName, .invalidChannelName,
            .invalidSocketID, .invalidUser, .dataTooLong, .invalidChannelCount, .invalidBatch:
            .validationFailure
        default: .failure
        }
    }
}

extension ExitCode {
    /// The exit code if there was no connection or no answer before the timeout.
    static let noConnection = ExitCode(2)
}

extension Logger {
    /// A logger without output, because the commands print the necessary messages.
    static var silent: Logger { Logger(label: "pusher") { _ in SwiftLogNoOpLogHandler() } }
}

/// Calls `body`. If `body` runs longer than a second, shows `text` on a terminal.
func withProgress<Result: Sendable>(
    _ text: String,
    _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
    guard StandardError.isTerminal else { return try await body() }
    let progress = Task {
        try await Task.sleep(for: .seconds(1))
        StandardError.print("\(text) …")
    }
    defer { progress.cancel() }
    return try await body()
}
