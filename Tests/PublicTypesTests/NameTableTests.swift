import Foundation
import TestTraits
import Testing

/// Checks `Docs/API` against the table of names in `Docs/Architecture.md`.
@Suite("The names of the public API", .limited) struct NameTableTests {
    /// A name that must not occur in a listing, and the name that the table has for it.
    private struct Synonym {
        /// A regular expression for a part of a line.
        var old: String
        var new: String
        /// The products that the rule is for; empty for all.
        var products: Set<String> = []
        /// Symbols whose names another API prescribes, or that have another meaning.
        var exceptions: [String] = []
    }

    private static let testServers: Set<String> = ["EventSourceTestServer", "PusherTestServer", "SignalRTestServer"]

    private static let synonyms = [
        Synonym(old: #"\.waitUntil|\.waitForOpen\b|\.waitForClose"#, new: "connected(timeout:) and closed(timeout:)"),
        Synonym(
            old: #"\b(socket|connection|my)Id\b"#,
            new: "socketID, connectionID and myID",
            exceptions: ["PusherConnection.socketId", "PusherPresenceChannel.myId", "HubConnection.connectionId"]
        ),
        Synonym(old: #"\buserIds?\b"#, new: "userID", products: testServers.union(["PusherServerAPI"])),
        Synonym(
            old: #"(Error|TLSFailure)\.(kind|Kind|reason|Reason|status|statusCode|underlying\w*|url|host)\b"#,
            new: "code, httpStatus, cause and address"
        ),
        Synonym(
            old: #"\.Code\.(\w*TooLarge|connectTimedOut|timeout|timedOutWaiting)\b"#,
            new: "messageTooBig, connectionTimedOut and waitTimedOut",
            // HTTP status 413.
            exceptions: ["PusherServerAPIError.Code.tooLarge"]
        ),
        Synonym(
            old: #"Server\.(stop|close|received|httpURL|waitForEnds|disconnect\w*|closeAll\w*)\b|\.(chain|uri)\b"#,
            new: "shutdown(), dropConnections(), url, waitFor…(count:), certificateChain and target",
            products: testServers
        ),
        Synonym(
            old: #"TimeInterval|(time|Time|Timeout|Interval|ifetime|elapsed|elay)\??: Double"#,
            new: "Duration",
            exceptions: [
                "PusherClientOptions.", "PusherConnection.", "HttpConnectionOptions.timeout", "HttpRequest.",
                "HubConnectionBuilder.with", "RetryContext.", "nextRetryInterval(retryContext: RetryContext)",
            ]
        ),
        Synonym(
            old: #"maximum(Send|Receive)BufferSize|maximum(Event|Frame|Body)Size"#,
            new: "sendBufferSize, receiveBufferSize and maximumMessageSize"
        ),
        Synonym(old: #"\brepeatLast\b|\bmaximumRetries\b"#, new: "repeatsLast and atMost(_:_:)"),
        Synonym(old: #"\[HTTPHeader\]|\.Header\b"#, new: "HTTPHeaderFields and HTTPHeader"),
        Synonym(old: #"\._"#, new: "no name with an underscore"),
    ]

    /// The beginnings of lines that a listing must have.
    private static let required: [String: [String]] = [
        "EventSourceTestServer": server("EventSourceTestServer"),
        "PusherClient": [
            "@discardableResult func Pusher.connected(timeout: Duration? = nil) async throws",
            "var Pusher.status: ConnectionStatus", "var Pusher.statuses: ", waiting("ConnectionStatus"),
        ],
        "PusherTestServer": server("PusherTestServer"),
        "ServerSentEvents": client("EventStream") + [waiting("EventStream.State")],
        "SignalRClient": [
            "func HubConnection.connected(timeout: Duration? = nil) async throws",
            "nonisolated var HubConnection.status: HubConnectionStatus", "nonisolated var HubConnection.statuses: ",
            waiting("HubConnectionStatus"),
        ],
        "SignalRTestServer": server("SignalRTestServer"),
        "WebSocketClient": client("ReconnectingWebSocket") + [waiting("ReconnectingWebSocket.State")],
    ]

    private static func server(_ type: String) -> [String] {
        [
            "func \(type).shutdown() async", "var \(type).url: String { get }", "func \(type).dropConnections(",
            "static func \(type).withServer<Result>(",
        ]
    }

    private static func client(_ type: String) -> [String] {
        [
            "func \(type).connect()", "func \(type).connected(timeout: Duration? = nil) async throws",
            "func \(type).close(", "var \(type).state: \(type).State", "var \(type).states: AsyncStream<\(type).State>",
        ]
    }

    private static func waiting(_ type: String) -> String {
        "case \(type).waiting(until: ContinuousClock.Instant, attempt: Int, reason: "
    }

    private static func problems(in lines: [String], of product: String) throws -> [String] {
        var problems: [String] = []
        for synonym in synonyms where synonym.products.isEmpty || synonym.products.contains(product) {
            let old = try Regex(synonym.old).wordBoundaryKind(.simple)
            for line in lines where line.contains(old) && !synonym.exceptions.contains(where: line.contains) {
                problems.append("\(product): \(line) — the name in the table is \(synonym.new)")
            }
        }
        // `HubError` is only the text for the server.
        for type in types(ending: "Error", lines) where type != "HubError" {
            for member in ["code", "message", "cause"]
            where !lines.contains(where: { $0.hasPrefix("var \(type).\(member): ") }) {
                problems.append("\(product): \(type) has no \(member)")
            }
        }
        // The server of a relay has no default.
        for type in types(ending: "Options", lines) where type != "PusherTestRelay.Options" {
            let parameters = lines.filter { $0.hasPrefix("\(type).init(") }.map {
                $0.dropFirst("\(type).init(".count).dropLast().components(separatedBy: ", ").filter { !$0.isEmpty }
            }
            if !parameters.contains(where: { $0.allSatisfy { $0.contains(" = ") } }) {
                problems.append("\(product): \(type) has no initializer without parameters")
            }
        }
        return problems
    }

    private static func types(ending end: String, _ lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix("struct ") && $0.hasSuffix(end) }.map { String($0.dropFirst("struct ".count)) }
            .filter { !$0.contains(" ") }
    }

    @Test("each name is in the table's words", arguments: PublicTypes.products)
    func names(product: String) throws {
        let lines = try PublicTypes.lines(of: product)
        #expect(try Self.problems(in: lines, of: product) == [])
        for start in Self.required[product] ?? [] {
            #expect(lines.contains { $0.hasPrefix(start) }, "\(product) lacks \(start)")
        }
    }

    @Test(
        "the test finds an older name",
        arguments: [
            "func X.waitUntilOpen() async", "var X.socketId: String", "var XError.kind: XError.Code",
            "var X.maximumSendBufferSize: Int", "func X.delays(repeatLast: Bool)", "var X.userId: String",
            "var XError.status: Int?", "static let XError.Code.messageTooLarge: XError.Code", "struct XError",
            "func EventSourceTestServer.stop() async", "var X.pollTimeout: Double", "struct XOptions",
            "var X.headers: [HTTPHeader]", "requirement var X._listeners: Y",
        ]
    )
    func olderName(line: String) throws {
        #expect(try !Self.problems(in: [line], of: "SignalRTestServer").isEmpty)
    }
}
