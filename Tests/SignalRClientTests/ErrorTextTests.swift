import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeHTTP
import SignalRTestServer
import SocketTestSupport
import TestTraits
import Testing

@testable import SignalRClient

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
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.77.0.1:9/hub?token=hush").build()
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

    @Test("if the port of an http URL expects TLS, the error says so")
    func onlyTLS() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            // An alert of TLS.
            try await peer.write([0x15, 3, 3, 0, 2, 2, 10])
        } _: { port in
            let connection = HubConnectionBuilder.patient.withUrl(url: "http://127.0.0.1:\(port)/hub").build()
            let error = await #expect(throws: SignalRClientError.self) { try await connection.start() }
            let text = """
                Request to http://127.0.0.1:\(port)/hub/negotiate failed: the server's answer is not HTTP. \
                Use https if the port expects TLS.
                """
            #expect(error?.message == text)
        }
    }

    @Test("if the response with events does not begin in time, the error names a proxy as a possible reason")
    func silentEvents() async throws {
        struct Silence: HTTPStreamer, HTTPStream {
            func stream(
                _ request: HTTPRequest,
                redirects: HTTPStreamRedirects,
                on eventLoop: any EventLoop,
                receive: @escaping @Sendable (HTTPStreamEvent) -> Void
            ) -> any HTTPStream { self }
            func setReading(_ isReading: Bool) {}
            func cancel() {}
        }
        let loop = NIOAsyncTestingEventLoop()
        let options = HttpConnectionOptions()
        let url = "http://hub.test/hub?id=hush"
        let error = NIOLockedValueBox<(any Error)?>(nil)
        let opening = Task {
            let http = HubHTTP(options, PooledHttpClient(options), hub: url)
            do {
                _ = try await EventTransport.open(
                    http,
                    url,
                    streamer: Silence(),
                    limit: 1_000,
                    timeout: nil,
                    on: loop
                ) { _ in }
            } catch let failure {
                error.withLockedValue { $0 = failure }
            }
        }
        while error.withLockedValue({ $0 == nil }) {
            try Task.checkCancellation()
            await loop.advanceTime(by: .seconds(100))
            await Task.yield()
        }
        await opening.value
        let failure = try #require(error.withLockedValue { $0 } as? SignalRClientError)
        #expect(failure.code == .connectionFailed && failure.cause as? SignalRError == .httpTimeoutError)
        #expect(
            failure.message
                == "Event stream failed: http://hub.test/hub did not answer in time. A proxy may hold the answer back."
        )
    }

    /// A place where a server chooses a text that an error or the log shows.
    enum LongText: String, CaseIterable, CustomTestStringConvertible, Sendable {
        case negotiation, handshake, methodResult, streamEnd, close, methodName

        var testDescription: String { rawValue }
    }

    @Test("errors and log show the first 1,000 bytes of a server's text", arguments: LongText.allCases)
    func longTexts(place: LongText) async throws {
        let long = String(repeating: "x", count: 5_000)
        let log = Lines()
        let shown = try await withServer { server in
            let builder = Route.all[0].builder(server).withLogHandler(logHandler: log)
            let connection = builder.build()
            switch place {
            case .negotiation: await server.fail(.negotiate, .body(#"{"error":"\#(long)"}"#))
            case .handshake: await server.setHandshake(.refuse(long))
            default: try await connection.start()
            }
            defer { Task { await connection.stop() } }
            server.on("fail") { (_: TestHubCall, _: Int) -> Int in throw HubError(long) }
            server.on("stream") { (_: TestHubCall, _: Int) in
                AsyncThrowingStream<Int, any Error> { $0.finish(throwing: HubError(long)) }
            }
            do {
                switch place {
                case .negotiation, .handshake: try await connection.start()
                case .methodResult: let _: Int = try await connection.invoke(method: "fail", arguments: 1)
                case .streamEnd: for try await _ in try await connection.stream("stream", 1, of: Int.self) {}
                case .close:
                    let (closed, continuation) = AsyncStream.makeStream(of: (any Error)?.self)
                    connection.onClosed { continuation.yield($0) }
                    server.closeConnections(error: long)
                    for await error in closed { if let error { throw error } else { break } }
                case .methodName:
                    let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
                    await connection.on(long) { (number: Int) in continuation.yield(number) }
                    server.sendAll(long, "hidden")
                    server.sendAll(long, 3)
                    for await _ in seen { break }
                }
                return log.texts(at: .warning).first { $0.contains("xx") }
            } catch {
                return "\(error)"
            }
        }
        let text = try #require(shown)
        #expect(text.contains(String(repeating: "x", count: 900)) && text.utf8.count < 1_300, "\(text)")
        #expect(log.texts().allSatisfy { $0.utf8.count < 1_300 })
    }

    @Test("an argument that cannot be encoded is an error of encoding")
    func encoding() async throws {
        try await withConnection { connection, _ in
            let error = await #expect(throws: SignalRClientError.self) {
                try await connection.invoke(method: "echo", arguments: Double.nan)
            }
            #expect(error?.code == .encodingFailed && error?.cause is EncodingError)
            #expect(
                error?.message
                    == """
                    Argument 0 not sent: encoding it threw an error of the type 'EncodingError'. Only the error's cause \
                    contains its text, which may contain values.
                    """
            )
        }
    }

    @Test("the log warns about a handler whose types do not fit, and shows no values")
    func handlerTypes() async throws {
        let log = Lines()
        let configure = { (builder: HubConnectionBuilder) in
            builder.withLogLevel(logLevel: .warning).withLogHandler(logHandler: log)
        }
        try await withConnection(Route.all[0], configure) { connection, server in
            let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
            await connection.on("typed") { (number: Int) in continuation.yield(number) }
            server.sendAll("typed", "hidden")
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
        let reason = "Argument 0 not decoded: it does not fit 'Int', because the value is not of the type 'Int'."
        #expect(warnings.first?.hasSuffix(reason) == true, "\(warnings)")
        #expect(warnings.allSatisfy { !$0.contains("hidden") })
        #expect(warnings.last?.contains("the invocation has 2 arguments, and the handler takes 1") == true)
    }

    @Test("without a level, the log has the warnings and nothing else")
    func defaultLevel() async throws {
        let log = Lines()
        try await withConnection(Route.all[0], { $0.withLogHandler(logHandler: log) }) { connection, server in
            let (seen, continuation) = AsyncStream.makeStream(of: Int.self)
            await connection.on("typed") { (number: Int) in continuation.yield(number) }
            server.sendAll("typed", "hidden")
            server.sendAll("typed", 3)
            for await number in seen where number == 3 { break }
        }
        #expect(log.texts().count == 1)
        #expect(log.texts(at: .warning).first?.hasPrefix("The types of a handler do not fit") == true)
    }

    @Test("the log says that stateful reconnect needs a negotiation")
    func statefulWithoutNegotiation() {
        let log = Lines()
        var options = HttpConnectionOptions()
        options.skipNegotiation = true
        options.transport = .webSockets
        let builder = HubConnectionBuilder().withUrl(url: "http://hub.test", options: options)
            .withLogHandler(logHandler: log)
        _ = builder.build()
        #expect(log.texts() == [])
        _ = builder.withStatefulReconnect().build()
        #expect(
            log.texts(at: .warning)
                == ["Without a negotiation, there is no stateful reconnect, so the option has no effect."]
        )
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
