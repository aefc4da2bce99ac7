import Foundation
import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

/// Keeps the lines of a log.
private final class Lines: SignalRClient.LogHandler {
    private let lines = NIOLockedValueBox<[(level: LogLevel, text: String)]>([])

    func log(logLevel: LogLevel, message: LogMessage, file: String, function: String, line: UInt) {
        lines.withLockedValue { $0.append((logLevel, "\(message)")) }
    }

    func texts(at level: LogLevel? = nil) -> [String] {
        lines.withLockedValue { lines in lines.filter { level == nil || $0.level == level }.map(\.text) }
    }
}

@Suite("Words of SignalR's errors and log", .limited)
struct ErrorTextTests {
    @Test("the error of a refused connection names the address and the system's reason")
    func refused() async throws {
        // No test binds this port.
        let connection = HubConnectionBuilder().withUrl(url: "http://127.77.0.1:9/hub?token=hush").build()
        let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
        #expect(
            error?.message
                == """
                Request to http://127.77.0.1:9/hub/negotiate failed: the host '127.77.0.1', port 9, was not reached \
                (Connection refused).
                """
        )
        #expect(error?.localizedDescription == error?.message)
    }

    @Test("the descriptions of errors are their localized descriptions")
    func localized() {
        let errors: [(any Error, String)] = [
            (SignalRError.noHandshakeMessageReceived, "\(SignalRError.noHandshakeMessageReceived)"),
            (SignalRClientError(.callEnded, "Call ended: it was late."), "Call ended: it was late."),
            (HubError("no"), "no"),
        ]
        for (error, text) in errors { #expect(error.localizedDescription == text) }
        #expect("\(SignalRError.noHandshakeMessageReceived)".contains("A proxy may hold the answer back."))
    }

    @Test("an argument that cannot be encoded is an error of encoding")
    func encoding() async throws {
        try await withConnection { connection, _ in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.invoke(method: "echo", arguments: Double.nan)
            }
            #expect(error?.code == .encodingFailed)
        }
    }

    @Test("the log warns about a handler whose types do not fit, with the cause")
    func handlerTypes() async throws {
        let log = Lines()
        let configure = { (builder: HubConnectionBuilder) in
            builder.withLogLevel(logLevel: .warning).withLogHandler(logHandler: log)
        }
        try await withConnection(Route.all[0], configure) { connection, server in
            let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
            await connection.on("typed") { (number: Int) in continuation.yield(number) }
            server.sendAll("typed", "text")
            server.sendAll("typed", 1, 2)
            server.sendAll("typed", 3)
            // Handlers of one connection run in order, so both failures are in the log.
            for await number in seen where number == 3 { break }
        }
        let warnings = log.texts(at: .warning)
        #expect(warnings.count == 2, "\(warnings)")
        #expect(
            warnings.allSatisfy {
                $0.hasPrefix("The types of a handler do not fit a call of the method 'typed': decodingFailed: ")
            }
        )
        #expect(warnings.first?.contains("See the error's cause. The cause: ") == true, "\(warnings)")
        #expect(warnings.last?.contains("the invocation has 2 arguments, and the handler takes 1") == true)
    }

    @Test("the log contains the reason of a loss once, and the reason has no repeated words")
    func loss() async throws {
        let log = Lines()
        let configure = { (builder: HubConnectionBuilder) in
            builder.withAutomaticReconnect().withLogLevel(logLevel: .debug).withLogHandler(logHandler: log)
        }
        try await withConnection(Route.all[0], configure) { connection, server in
            let (reconnected, continuation) = AsyncStream.makeStream(of: Void.self)
            connection.onReconnected { continuation.yield() }
            server.dropConnections()
            for await _ in reconnected { break }
        }
        let lines = log.texts().filter { $0.contains("Connection lost") }
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.ranges(of: "Connection lost").count == 1, "\(lines)")
    }
}
