import EventSourceTestServer
import EventStreamTestSupport
import Foundation
import RealtimeHTTP
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

@Suite("Event sources with the interface of IKEventSource", .limited)
struct EventSourceTests {
    enum Call: Equatable, Sendable {
        case open(EventSourceState)
        case message(String?, String?, String?)
        case listener(String?, String?, String?)
        case complete(Int?, Bool?, code: Int?, EventSourceState)
    }

    /// An event source whose callbacks a test can wait for.
    private final class Recorder: Sendable {
        let source: EventSource
        private let calls: AsyncStream<Call>

        convenience init(_ url: String, headers: [String: String] = [:]) throws {
            try self.init(EventSource(url: #require(URL(string: url)), headers: headers, connector: .patient))
        }

        init(_ source: EventSource) {
            self.source = source
            let (calls, continuation) = AsyncStream.makeStream(of: Call.self)
            self.calls = calls
            source.onOpen { [weak source] in
                dispatchPrecondition(condition: .onQueue(.main))
                continuation.yield(.open(source?.readyState ?? .closed))
            }
            source.onMessage { continuation.yield(.message($0, $1, $2)) }
            source.addEventListener("named") { _, _, _ in Issue.record("a listener that was replaced") }
            source.addEventListener("named") { continuation.yield(.listener($0, $1, $2)) }
            source.onComplete { [weak source] status, reconnect, error in
                dispatchPrecondition(condition: .onQueue(.main))
                continuation.yield(.complete(status, reconnect, code: error?.code, source?.readyState ?? .open))
            }
        }

        func next() async -> Call? { await calls.first { _ in true } }
    }

    @Test("the event source keeps the id and the reconnection time for the second connection")
    func life() async throws {
        try await EventSourceTestServer.withServer { server in
            let body = "retry: 5000\nid: 1\ndata: a\n\nevent: named\ndata: b\n\nevent: other\ndata: c\n\nid: 2\n\n"
            server.script([.text(body), .text("data: d\n\n")])
            let recorder = try Recorder(server.url, headers: ["X-Token": "t"])
            #expect(recorder.source.readyState == .closed)
            #expect(recorder.source.retryTime == 3_000)
            #expect(recorder.source.lastEventId == nil)
            #expect(recorder.source.events() == ["named"])
            recorder.source.connect()
            #expect(await recorder.next() == .open(.open))
            #expect(await recorder.next() == .message("1", "message", "a"))
            #expect(await recorder.next() == .listener("1", "named", "b"))
            #expect(await recorder.next() == .complete(200, false, code: nil, .closed))
            #expect(recorder.source.lastEventId == "2")
            #expect(recorder.source.retryTime == 5_000)
            #expect(server.requests[0].header("X-Token") == "t")
            #expect(server.requests[0].header("Last-Event-ID") == nil)

            recorder.source.removeEventListener("named")
            #expect(recorder.source.events() == [])
            recorder.source.connect(lastEventId: recorder.source.lastEventId)
            #expect(await recorder.next() == .open(.open))
            #expect(await recorder.next() == .message("2", "message", "d"))
            #expect(await recorder.next() == .complete(200, false, code: nil, .closed))
            #expect(server.requests[1].header("Last-Event-ID") == "2")
            #expect(recorder.source.retryTime == 5_000)
        }
    }

    @Test(
        "only status 200 opens the event source, and only other 2xx statuses except 204 request a reconnect",
        arguments: [(201, true), (202, true), (299, true), (204, false), (301, false), (404, false), (500, false)]
    )
    func statuses(_ status: Int, _ reconnects: Bool) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: status, headers: ["Location": status == 301 ? "/none" : nil])])
            server.script([TestResponse(status: 404)], at: "/none")
            let recorder = try Recorder(server.url)
            recorder.source.connect()
            let expected = status == 301 ? 404 : status
            let code = [202, 204].contains(status) ? nil : NSURLErrorBadServerResponse
            #expect(await recorder.next() == .complete(expected, reconnects, code: code, .closed))
        }
    }

    @Test("the callback gets the status and the error of a lost connection")
    func lost() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.send("data: x\n\n"), .disconnect])])
            let recorder = try Recorder(server.url)
            recorder.source.connect()
            #expect(await recorder.next() == .open(.open))
            #expect(await recorder.next() == .message(nil, "message", "x"))
            #expect(
                await recorder.next() == .complete(200, false, code: NSURLErrorNetworkConnectionLost, .closed)
            )
        }
    }

    @Test("the callback gets an error without a status if the server cannot be reached")
    func notThere() async throws {
        let server = try await EventSourceTestServer.start()
        await server.shutdown()
        let recorder = try Recorder(server.url)
        await MainActor.run {
            recorder.source.connect()
            // The event source changes its state on the main queue, so it cannot have failed yet.
            #expect(recorder.source.readyState == .connecting)
        }
        #expect(await recorder.next() == .complete(nil, nil, code: NSURLErrorCannotConnectToHost, .closed))
    }

    @Test("disconnect calls the completion callback once, and the app can connect again")
    func disconnect() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\n")])
            let recorder = try Recorder(server.url)
            for _ in 1...3 {
                recorder.source.connect()
                recorder.source.connect()
                #expect(await recorder.next() == .open(.open))
                #expect(await recorder.next() == .message(nil, "message", "x"))
                recorder.source.disconnect()
                recorder.source.disconnect()
                #expect(await recorder.next() == .complete(200, false, code: NSURLErrorCancelled, .closed))
            }
            #expect(server.requests.count == 3)
        }
    }

    @Test("the first connection completes even if the app connects again right after a disconnect")
    func reconnectAtOnce() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\n")])
            let recorder = try Recorder(server.url)
            recorder.source.connect()
            #expect(await recorder.next() == .open(.open))
            #expect(await recorder.next() == .message(nil, "message", "x"))
            await MainActor.run {
                recorder.source.disconnect()
                #expect(recorder.source.readyState == .closed)
                recorder.source.connect()
                // The event source changes its state on the main queue, so it cannot be open yet.
                #expect(recorder.source.readyState == .connecting)
            }
            var calls: [Call] = []
            for _ in 1...3 { if let call = await recorder.next() { calls.append(call) } }
            // The calls of the two connections have no fixed order, so the test filters them.
            let opened = calls.filter {
                if case .complete(200, false, NSURLErrorCancelled, _) = $0 { false } else { true }
            }
            #expect(opened == [.open(.open), .message(nil, "message", "x")])
            #expect(recorder.source.readyState == .open)
        }
    }

    @Test("the event source makes all connections with one connector")
    func oneConnector() async throws {
        let world = VirtualWorld()
        let url = try #require(URL(string: "http://example.com/feed"))
        let recorder = Recorder(EventSource(url: url, headers: [:], connector: world.connector))
        for count in 1...3 {
            recorder.source.connect()
            let exchange = try #require(await world.nextRequest())
            try await exchange.respond()
            try await exchange.bring(.end)
            #expect(await recorder.next() == .open(.open))
            #expect(await recorder.next() == .complete(200, false, code: nil, .closed))
            #expect(world.requestCount == count)
        }
    }

    @Test("the app can disconnect inside each callback", arguments: ["open", "message", "named"])
    func disconnectInCallback(_ callback: String) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\nevent: named\ndata: y\n\ndata: z\n\n")])
            let source = EventSource(url: try #require(URL(string: server.url)), headers: [:], connector: .patient)
            let (calls, continuation) = AsyncStream.makeStream(of: String.self)
            let called: @Sendable (String) -> Void = { [weak source] name in
                continuation.yield(name)
                if name == callback { source?.disconnect() }
            }
            source.onOpen { called("open") }
            source.onMessage { _, _, _ in called("message") }
            source.addEventListener("named") { _, _, _ in called("named") }
            source.onComplete { _, _, error in
                continuation.yield("\(error?.code ?? 0)")
                continuation.finish()
            }
            source.connect()
            var names: [String] = []
            for await name in calls { names.append(name) }
            let all = ["open", "message", "named"]
            #expect(names == all.prefix { $0 != callback } + [callback, "\(NSURLErrorCancelled)"])
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("the reconnection time is at most 10 minutes")
    func retryLimit() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("retry: 9223372036854775807\ndata: x\n\n")])
            let recorder = try Recorder(server.url)
            recorder.source.connect()
            for _ in 1...3 { _ = await recorder.next() }
            #expect(recorder.source.retryTime == 600_000)
        }
    }

    /// An object that calls the event source in its `deinit`.
    private final class Asking: Sendable {
        let source: EventSource
        init(_ source: EventSource) { self.source = source }
        deinit { _ = source.events() }
    }

    @Test("the release of a replaced or removed closure can call the event source")
    func releasedClosures() throws {
        let source = EventSource(
            url: try #require(URL(string: "http://127.0.0.1:9")),
            headers: [:],
            connector: .patient
        )
        let closure = { (asking: Asking) -> @Sendable () -> Void in { _ = asking } }
        source.onOpen(closure(Asking(source)))
        source.onOpen {}
        let listener = closure(Asking(source))
        source.addEventListener("a") { _, _, _ in listener() }
        source.removeEventListener("a")
        #expect(source.events() == [])
    }

    @Test("the OnMain methods accept closures of the main actor")
    @MainActor
    func mainActor() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: a\n\nevent: named\ndata: b\n\n")])
            let source = EventSource(url: try #require(URL(string: server.url)), headers: [:], connector: .patient)
            var calls: [String] = []
            source.onOpenOnMain { calls.append("open") }
            source.onMessageOnMain { _, _, data in calls.append(data ?? "") }
            source.addEventListenerOnMain("named") { _, event, _ in calls.append(event ?? "") }
            await withCheckedContinuation { continuation in
                source.onCompleteOnMain { _, _, _ in continuation.resume() }
                source.connect()
            }
            #expect(calls == ["open", "a", "named"])
        }
    }
}
