import EventSourceTestServer
import EventStreamTestSupport
import Foundation
import NIOConcurrencyHelpers
import RealtimeHTTP
import ServerSentEvents
import TestSupport
import Testing

/// Known defects of other clients. Each test shows that this client does not have one.
@Suite("Defects of other clients", .timeLimit(.minutes(5)))
struct DefectTests {
    private func events(of chunks: [String]) async throws -> [ServerSentEvent] {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: chunks.map { .send($0) })])
            var events: [ServerSentEvent] = []
            for try await event in EventStream(server.url, options: .once).events { events.append(event) }
            return events
        }
    }

    @Test("events are dropped or doubled if CR LF or a character is split")
    func cuts() {
        let bytes = Array("data: €\r\n\r\ndata: b\r\n\r\n".utf8)
        for place in 0...bytes.count { #expect(ParserRun(bytes.cut(at: [place])).events.map(\.data) == ["€", "b"]) }
    }

    @Test("an empty first line of data is lost")
    func emptyFirstLine() async throws {
        let events = try await events(of: ["data:\ndata: b\n\n"])
        #expect(events.map(\.data) == ["\nb"])
    }

    @Test("an incomplete last event is delivered, or its id kept")
    func unfinished() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("id: 1\ndata: a\n\nid: 2\ndata: b\n"), TestResponse(status: 204)])
            let stream = EventStream(server.url, options: .quick)
            var data: [String] = []
            for try await event in stream.events { data.append(event.data) }
            #expect(data == ["a"])
            #expect(server.requests[1].header("Last-Event-ID") == "1")
        }
    }

    @Test("the last id is lost with an event without one")
    func lastID() async throws {
        let events = try await events(of: ["id: 1\ndata: a\n\ndata: b\n\n"])
        #expect(events.map(\.id) == ["1", "1"])
    }

    @Test("the reconnection time is reset by an event without one")
    func reconnectionTime() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("retry: 7000\ndata: a\n\ndata: b\n\n")])
            let stream = EventStream(server.url, options: .once)
            for try await _ in stream.events {}
            #expect(stream.reconnectionTime == .seconds(7))
        }
    }

    @Test("a byte order mark within the stream is removed")
    func marks() async throws {
        let events = try await events(of: ["data: a\n\ndata: \u{FEFF}b\n\n"])
        #expect(events.map(\.data) == ["a", "\u{FEFF}b"])
    }

    @Test("an event without data is delivered")
    func noData() async throws {
        let events = try await events(of: ["event: a\n\nid: 1\n\ndata: x\n\n"])
        #expect(events == [ServerSentEvent(data: "x", id: "1")])
    }

    @Test("a redirect without a location is followed forever", arguments: [301, 302, 303, 307, 308])
    func endlessRedirect(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(status, to: nil)])
            #expect(await Recording(EventStream(server.url, options: .quick)).end()?.code == .redirectRefused)
            #expect(server.requests.count == 1)
        }
    }

    @Test("a POST is repeated without a request to do so")
    func repeatedPost() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.send("data: x\n\n"), .disconnect])])
            let request = EventStreamRequest(server.url, method: "POST", body: [1])
            let error = await Recording(EventStream(request)).end()
            #expect(error?.code == .connectionLost)
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client reconnects after status 204")
    func noContent() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: 204)])
            let stream = EventStream(server.url, options: .quick)
            for try await _ in stream.events {}
            #expect(stream.state == .closed(nil))
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client reconnects after it was closed")
    func reconnectAfterClose() async throws {
        let world = VirtualWorld()
        let recording = Recording(world.stream())
        let exchange = try #require(await world.nextRequest())
        try await exchange.respond()
        try await exchange.bring(.end)
        #expect(await recording.nextError() != nil)
        recording.stream.close()
        #expect(await recording.next() == .end)
        await world.advance(by: .seconds(1_000))
        #expect(world.requestCount == 1)
    }

    @Test("each reconnect leaves a connection behind")
    func leakedConnections() async throws {
        try await EventSourceTestServer.withServer { server in
            let most = NIOLockedValueBox(0)
            server.respond { exchange in
                most.withLockedValue { $0 = max($0, server.connectionCount) }
                try await exchange.play(exchange.number == 100 ? TestResponse(status: 204) : .text("data: x\n\n"))
            }
            for try await _ in EventStream(server.url, options: .quick).events {}
            #expect(server.requests.count == 100)
            // A connection that ends, and the next one.
            #expect(most.withLockedValue { $0 } <= 3)
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("an event source lives until it is disconnected")
    func immortal() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open()])
            let url = try #require(URL(string: server.url))
            var source: EventSource? = EventSource(url: url)
            weak let weakSource = source
            source?.onComplete { _, _, _ in Issue.record("called back after the release") }
            source?.connect()
            await server.received(1)
            source = nil
            #expect(weakSource == nil)
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("a stream without a reference keeps its connection")
    func released() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\n")])
            var events: EventStreamEvents.AsyncIterator? = EventStream(server.url).events.makeAsyncIterator()
            let event = try await events?.next()
            #expect(event?.data == "x")
            #expect(server.connectionCount == 1)
            events = nil
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("a stream that has ended or failed keeps itself alive", arguments: [200, 204, 307, 404])
    func immortalStream(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: status)])
            var connector: EventStreamConnector? = EventStreamConnector()
            weak let weakConnector = connector
            if let connector {
                _ = await Recording(EventStream(server.url, options: .once, connector: connector)).end()
            }
            connector = nil
            // The event loop releases it a little later.
            await waitUntil { weakConnector == nil }
        }
    }

    @Test("two sources share an id")
    func sharedID() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("id: 1\ndata: x\n\n")])
            let first = EventStream(server.url, options: .once)
            for try await _ in first.events {}
            let second = EventStream(server.url, options: .once)
            for try await _ in second.events { break }
            #expect(server.requests[1].header("Last-Event-ID") == nil)
        }
    }

    @Test("streams share the state of a parser")
    func sharedParser() async throws {
        try await withThrowingTaskGroup { group in
            for number in 1...20 {
                group.addTask { (number, try await events(of: ["id: \(number)\nda", "ta: \(number)\n", "\n"])) }
            }
            for try await (number, events) in group {
                #expect(events == [ServerSentEvent(data: "\(number)", id: "\(number)")])
            }
        }
    }

    @Test("the error is lost after a response")
    func swallowedError() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.disconnect])])
            let error = await completion(of: server.url)
            #expect(error == NSURLErrorNetworkConnectionLost)
        }
    }

    @Test("the state is open after the end, or a response of status 404 opens the source")
    func states() async throws {
        for status in [200, 404] {
            try await EventSourceTestServer.withServer { server in
                server.script([TestResponse(status: status)])
                let source = EventSource(url: try #require(URL(string: server.url)))
                let opened = NIOLockedValueBox(false)
                source.onOpen { opened.withLockedValue { $0 = true } }
                let state = await withCheckedContinuation { continuation in
                    source.onComplete { [weak source] _, _, _ in continuation.resume(returning: source?.readyState) }
                    source.connect()
                }
                #expect(state == .closed)
                #expect(opened.withLockedValue { $0 } == (status == 200))
            }
        }
    }

    private func completion(of url: String) async -> Int? {
        guard let url = URL(string: url) else { return nil }
        let source = EventSource(url: url)
        return await withCheckedContinuation { continuation in
            source.onComplete { _, _, error in continuation.resume(returning: error?.code) }
            source.connect()
        }
    }
}
