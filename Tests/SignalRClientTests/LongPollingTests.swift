import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import SignalRCore
import SignalRTestServer
import TestTraits
import Testing

@testable import SignalRClient

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
        let connection = HubConnectionBuilder.patient.withUrl(url: "http://localhost/hub", options: options).build()
        let ends = Inbox<(any Error)?>()
        connection.onClosed { ends.add($0) }
        try await connection.start()
        let error = try await ends.next()
        #expect(code(error) == .transportClosed)
        let text = "the server did not answer 2 polls in a row, for 120 s each"
        #expect(error.map { "\($0)".contains(text) } == true)
        #expect(server.rest == 1)
    }

    /// A server that answers only the first poll.
    private final class SilentServer: HttpClient {
        private let polls = NIOLockedValueBox(0)
        var pollCount: Int { polls.withLockedValue { $0 } }

        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            let count = polls.withLockedValue { polls in
                if request.method == .GET { polls += 1 }
                return polls
            }
            if request.method == .GET, count > 1 {
                // The client's own time limit does not help, because it stops during a suspension.
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
            return (.string(""), HttpResponse(statusCode: 200))
        }
    }

    @Test func aPollEndsWithinSecondsAfterASuspension() async throws {
        let (loop, suspended) = (NIOAsyncTestingEventLoop(), NIOLockedValueBox(Duration.zero))
        let (server, options) = (SilentServer(), HttpConnectionOptions())
        let end = NIOLockedValueBox<HubFailure?>(nil)
        let url = "http://hub.test/hub"
        let transport = try await LongPollingTransport.open(
            HubHTTP(options, server, hub: url),
            url,
            timeout: nil,
            isBinary: false,
            on: loop,
            now: { .nanoseconds(Int64(loop.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 } },
            receive: { event in
                if case .closed(let failure) = event { end.withLockedValue { $0 = failure } }
            }
        )
        let start = loop.now
        while end.withLockedValue({ $0 == nil }), loop.now - start < .seconds(60) {
            try Task.checkCancellation()
            let count = server.pollCount
            await loop.run()
            suspended.withLockedValue { $0 += .seconds(120) }
            await loop.advanceTime(by: .seconds(5))
            // The next poll begins after the last one.
            for _ in 0..<1_000 where server.pollCount == count && end.withLockedValue({ $0 == nil }) {
                await loop.run()
                await Task.yield()
            }
        }
        guard case .client(let error)? = end.withLockedValue({ $0 }) else {
            return #expect(Bool(false), "The transport has not noticed the suspension.")
        }
        #expect(error.message.contains("the server did not answer 2 polls in a row"))
        #expect(server.pollCount == 3)
        transport.abort()
    }

    @Test(arguments: Route.all.filter { $0.hubProtocol == .json && !$0.isInMemory })
    func theLimitOfAMessageDoesNotApplyToSeveralMessagesTogether(_ route: Route) async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.transport = route.transport
            options.maximumMessageSize = 1_000
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
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
            let error = try await ends.next() as? SignalRClientError
            let text = "Connection lost: the server sent a message of more than 1000 bytes. Raise maximumMessageSize."
            #expect(error?.code == .messageTooBig && error?.message == text)
        }
    }

    @Test(arguments: Route.all.filter { $0.hubProtocol == .json && !$0.isInMemory })
    func theLimitOfATransportHasTheSameError(_ route: Route) async throws {
        try await withServer { server in
            var options = HttpConnectionOptions()
            options.transport = route.transport
            options.maximumMessageSize = 1_000
            options.receiveBufferSize = 1_000
            let connection = HubConnectionBuilder.patient.withUrl(url: server.url, options: options).build()
            let ends = Inbox<(any Error)?>()
            connection.onClosed { ends.add($0) }
            try await connection.start()
            server.sendBytes(Array(repeating: UInt8(ascii: "x"), count: 5_000))
            let error = try await ends.next() as? SignalRClientError
            let text =
                "Connection lost: the server sent more than 2000 bytes at once. "
                + "Raise maximumMessageSize or receiveBufferSize."
            #expect(error?.code == .messageTooBig && error?.message == text)
        }
    }

    /// A server that answers only the first poll, and records the methods of the other requests.
    private final class RecordingServer: HttpClient {
        let methods = NIOLockedValueBox<[HttpMethod]>([])
        private let isFirst = NIOLockedValueBox(true)

        func send(request: HttpRequest) async throws -> (StringOrData, HttpResponse) {
            let isFirst = isFirst.withLockedValue { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            guard isFirst || request.method != .GET else {
                for await _ in AsyncStream<Void>.makeStream().stream {}
                throw CancellationError()
            }
            if request.method != .GET { methods.withLockedValue { $0.append(request.method) } }
            return (.string(""), HttpResponse(statusCode: 200))
        }
    }

    @Test func anAbortedConnectionIsDeletedOnTheServer() async throws {
        let (server, url) = (RecordingServer(), "http://hub.test/hub")
        let transport = try await LongPollingTransport.open(
            HubHTTP(HttpConnectionOptions(), server, hub: url),
            url,
            timeout: nil,
            isBinary: false,
            on: MultiThreadedEventLoopGroup.singleton.next()
        ) { _ in }
        transport.abort()
        #expect(await turns { server.methods.withLockedValue { $0 } == [.DELETE] })
    }
}
