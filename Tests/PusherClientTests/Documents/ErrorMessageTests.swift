import Foundation
import TestTraits
import Testing

@testable import PusherClient

/// Reads the error messages from the sources, so that the tests cover every error.
@Suite("Messages of errors", .limited)
struct ErrorMessageTests {
    /// The types whose strings become parts of other messages.
    private static let clauseTypes: Set = ["TLSFailure", "DialFailure", "HTTPRequestError", "WebSocketViolation"]
    private static let clauseFiles = ["WebSocketViolation.swift"]
    /// The messages that the tests accept without a check. Some are Microsoft's words, which apps search for, and
    /// some begin with another message.
    private static let asTheyAre = [
        "Invocation canceled due to the underlying connection being closed.",
        "□ When the first encrypted event arrives, the client requests the key again.",
        "□ The environment variable □ names this proxy.", "WebSocket to □ not opened. □",
        // This string is a reason of `TLSFailure`.
        "it cannot be set up on this machine. If the system has no certificates of authorities, install "
            + "ca-certificates, or set tls.trustRoots",
        "□ has waited for 5 s, and the client is not connecting. Call connect().",
    ]
    private static let folders = [
        "PusherClient", "PusherCore", "WebSocketClient", "RealtimeNetworking", "ServerSentEvents", "SignalRClient",
        "SignalRCore", "PusherServerAPI", "PusherTestServer", "RealtimeHTTP",
    ]

    private static func messages(in folder: String) throws -> [SourceMessages.Message] {
        try SourceMessages(in: folder).messages.filter { message in
            // The test server also sends the messages of real servers, so only its own errors count. In other folders,
            // log messages do not count.
            if folder == "PusherTestServer" { return message.receiver?.contains("ServerError") == true }
            return message.receiver != "log"
        }
    }

    @Test("each message has the form \"<what failed>: <reason>. <what to do>.\"", arguments: folders)
    func form(folder: String) throws {
        for message in try Self.messages(in: folder) {
            let isClause =
                message.receiver.map(Self.clauseTypes.contains) == true
                || Self.clauseFiles.contains { message.place.contains($0) }
            guard !isClause, !Self.asTheyAre.contains(message.text) else { continue }
            #expect(message.text.contains(/^[A-Z□][^:]*: .*[.□]$/), "\(message)")
            #expect(!message.text.contains(";"), "\(message)")
        }
    }

    /// The words that look like names of types, but are not.
    private static let names: Set = [
        "WebSocket", "WebSockets", "SignalR", "ServerSentEvents", "LongPolling", "GiB",
        "SystemSodium", "BundledSodium",
    ]

    @Test("no message contains the name of a Swift type or a term of NIO", arguments: folders)
    func words(folder: String) throws {
        for message in try Self.messages(in: folder) {
            let types = message.text.matches(of: /\b[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+\b/).map { String($0.0) }
            #expect(types.allSatisfy(Self.names.contains), "\(message)")
            #expect(!message.text.contains(/NIO|BoringSSL|event loop(?! group)|Optional\(|promise/), "\(message)")
            // A message may contain the name of a type that the app has chosen, in quotes.
            for part in message.interpolations where part.contains(/\btype\b/) {
                #expect(message.text.contains("'□'") || part.contains("'"), "\(message)")
            }
        }
    }

    @Test(
        "a message says what is wrong, and does not send the reader of a log to the error's cause",
        arguments: folders
    )
    func causes(folder: String) throws {
        for message in try Self.messages(in: folder) {
            #expect(!message.text.contains(/[Ss]ee (the error's|its|the) cause/), "\(message)")
        }
    }

    @Test("messages write durations with a unit, and use milliseconds below a second", arguments: folders)
    func durations(folder: String) throws {
        for message in try Self.messages(in: folder) {
            for part in message.interpolations
            where part.contains(/^(wait|timeout|delay|interval|elapsed|duration|backOffReset)\b/) {
                #expect(part.contains("inWords") || message.text.contains("□ s "), "\(message)")
            }
        }
    }

    @Test(
        "the sources use every error code, and every code exists",
        arguments: [
            ("PusherCore/Errors/PusherClientError.swift", ["PusherClient", "PusherCore"]),
            ("PusherCore/Errors/AuthorizationError.swift", ["PusherClient", "PusherCore"]),
            ("WebSocketClient/Values/WebSocketError.swift", ["WebSocketClient"]),
            ("ServerSentEvents/Values/EventStreamError.swift", ["ServerSentEvents"]),
            ("SignalRCore/Errors/SignalRClientError.swift", ["SignalRClient", "SignalRCore"]),
            ("PusherServerAPI/PusherServerAPIError.swift", ["PusherServerAPI"]),
        ]
    )
    func codes(definition: String, users: [String]) throws {
        let codes = try SourceMessages.codes(in: definition)
        #expect(codes.count > 5)
        var source = ""
        for folder in users + ["RealtimeNetworking", "RealtimeHTTP"] {
            let root = SourceMessages.package.appendingPathComponent("Sources").appendingPathComponent(folder)
            for path in try FileManager.default.subpathsOfDirectory(atPath: root.path)
            where path.hasSuffix(".swift") && !definition.hasSuffix(path) {
                source += try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            }
        }
        let code = source.split(separator: "\n").filter { !$0.contains(/^\s*\/\//) }.joined(separator: "\n")
        let used = Set(code.matches(of: /\.(\w+)/).map { String($0.1) })
        // Initializers make these codes from the cases of network errors with the same names, so a case counts as a use
        // of its code.
        let named = Set(code.matches(of: /case (\w+)/).map { String($0.1) })
        #expect(codes.filter { !used.contains($0) && !named.contains($0) } == [])
    }

    @Test("the command-line tool's messages are sentences without names of types")
    func tool() throws {
        let root = SourceMessages.package.appendingPathComponent("Sources/pusher")
        var count = 0
        for path in try FileManager.default.subpathsOfDirectory(atPath: root.path) where path.hasSuffix(".swift") {
            let source = try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            let errors = source.matches(of: /(?:ValidationError|ExitMessage|\.failure|ConsoleError)\("(.*?)"[,)]/)
            for match in errors {
                count += 1
                let text = match.1
                #expect(text.contains(/^(?:[A-Z]|--|\\\()/) && text.contains(/[.?)]$/), "\(path): \(text)")
                #expect(!text.contains(/NIO|[a-z]Error\b|Optional/), "\(path): \(text)")
            }
        }
        #expect(count > 30)
    }

    @Test("the scanner finds a message in every form")
    func scanner() {
        let source = #"""
            // PusherClientError(.notConnected, "a comment")
            throw PusherClientError(.notConnected, "No \(name ?? "one") here: \(reason).")
            throw WebSocketError(
                proxy == nil ? .connectionFailed : .proxyFailed,
                """
                Two lines: \
                one text.
                """,
                cause: error
            )
            let message = "First: second." + " Third."
            logger.debug("not a message")
            """#
        let messages = SourceMessages.messages(in: source, file: "F.swift")
        #expect(messages.map(\.text) == ["No □ here: □.", "Two lines: one text.", "First: second. Third."])
        #expect(messages.map(\.code) == ["notConnected", "connectionFailed", nil])
        #expect(messages[0].interpolations == [#"name ?? "one""#, "reason"] && messages[0].place == "F.swift:2")
    }
}
