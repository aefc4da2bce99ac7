import NIOConcurrencyHelpers
import SignalRClient
import SignalRTestServer
import TestTraits
import Testing

@Suite(.limited) struct LongPollingTests {
    /// A server whose polls have the answers of a script. After the script, the server closes the connection.
    private final class ScriptedServer: HttpClient {
        enum Answer: Sendable {
            case text(String)
            case timeout
        }

        private let script: NIOLockedValueBox<[Answer]>

        init(_ script: [Answer]) { self.script = NIOLockedValueBox(script) }

        var rest: Int { script.withLockedValue { $0.count } }

        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            switch request.method {
            case .GET:
                let answer = script.withLockedValue { $0.isEmpty ? nil : $0.removeFirst() }
                switch answer {
                case .text(let text): return (.string(text), HttpResponse(statusCode: 200))
                case .timeout: throw SignalRError.httpTimeoutError
                case nil: return (.string(""), HttpResponse(statusCode: 204))
                }
            case .POST where request.url.contains("/negotiate"):
                let body =
                    #"{"connectionId":"1","availableTransports":[{"transport":"LongPolling","transferFormats":["Text"]}]}"#
                return (.string(body), HttpResponse(statusCode: 200))
            default: return (.string(""), HttpResponse(statusCode: 200))
            }
        }
    }

    @Test func aServerThatLeavesTwoPollsInARowUnansweredIsLost() async throws {
        // One missing answer is not enough, also not twice.
        let script: [ScriptedServer.Answer] = [
            .text(""), .text("{}\u{1E}"), .timeout, .text(""), .timeout, .text(""), .timeout, .timeout, .text(""),
        ]
        let server = ScriptedServer(script)
        var options = HttpConnectionOptions()
        options.httpClient = server
        let connection = HubConnectionBuilder().withUrl(url: "http://localhost/hub", options: options).build()
        let ends = Inbox<(any Error)?>()
        connection.onClosed { ends.add($0) }
        try await connection.start()
        let error = try await ends.next()
        #expect(code(error) == .transportClosed)
        let text = "the server did not answer 2 polls in a row, for 120 s each"
        #expect(error.map { "\($0)".contains(text) } == true)
        #expect(server.rest == 1)
    }

    @Test(arguments: Route.all.filter { $0.hubProtocol == .json && !$0.isInMemory })
    func theLimitOfAMessageDoesNotApplyToSeveralMessagesTogether(_ route: Route) async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.transport = route.transport
            options.maximumMessageSize = 1_000
            let connection = HubConnectionBuilder().withUrl(url: server.url, options: options).build()
            let texts = Inbox<String>()
            let ends = Inbox<(any Error)?>()
            await connection.on("news") { (text: String) in texts.add(text) }
            connection.onClosed { ends.add($0) }
            try await connection.start()
            func message(_ size: Int) -> [UInt8] {
                let text = String(repeating: "x", count: size)
                return Array("{\"type\":1,\"target\":\"news\",\"arguments\":[\"\(text)\"]}\u{1E}".utf8)
            }
            server.sendBytes(Array((0..<20).map { _ in message(900) }.joined()))
            #expect(await texts.next(20).allSatisfy { $0.utf8.count == 900 })
            server.sendBytes(message(1_000))
            #expect(code(try await ends.next()) == .protocolViolation)
        }
    }
}
