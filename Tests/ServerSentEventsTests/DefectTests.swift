import EventSourceTestServer
import EventStreamTestSupport
import Foundation
import NIOConcurrencyHelpers
import RealtimeHTTP
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

/// Tests for known defects of other clients, which this client does not have.
@Suite("Defects of other event stream clients", .limited)
struct DefectTests {
    private func events(of chunks: [String]) async throws -> [ServerSentEvent] {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: chunks.map { .send($0) })])
            var events: [ServerSentEvent] = []
            for try await event in EventStream(server.url, options: .once, connector: .patient).events {
                events.append(event)
            }
            return events
        }
    }

    @Test("the parser returns each event once if a CR LF or a character is split")
    func cuts() {
        let bytes = Array("data: €\r\n\r\ndata: b\r\n\r\n".utf8)
        for place in 0...bytes.count { #expect(ParserRun(bytes.cut(at: [place])).events.map(\.data) == ["€", "b"]) }
    }

    @Test("the client delivers an empty first line of data")
    func emptyFirstLine() async throws {
        let events = try await events(of: ["data:\ndata: b\n\n"])
        #expect(events.map(\.data) == ["\nb"])
    }

    @Test("the client discards an incomplete last event and its id")
    func unfinished() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("id: 1\ndata: a\n\nid: 2\ndata: b\n"), TestResponse(status: 204)])
            let stream = EventStream(server.url, options: .quick, connector: .patient)
            var data: [String] = []
            for try await event in stream.events { data.append(event.data) }
            #expect(data == ["a"])
            #expect(server.requests[1].header("Last-Event-ID") == "1")
        }
    }

    @Test("an event without an id has the last id")
    func lastID() async throws {
        let events = try await events(of: ["id: 1\ndata: a\n\ndata: b\n\n"])
        #expect(events.map(\.id) == ["1", "1"])
    }

    @Test("the client keeps the reconnection time if later events contain none")
    func reconnectionTime() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("retry: 7000\ndata: a\n\ndata: b\n\n")])
            let stream = EventStream(server.url, options: .once, connector: .patient)
            for try await _ in stream.events {}
            #expect(stream.reconnectionTime == .seconds(7))
        }
    }

    @Test("the client delivers a byte order mark that is not at the start of the stream")
    func marks() async throws {
        let events = try await events(of: ["data: a\n\ndata: \u{FEFF}b\n\n"])
        #expect(events.map(\.data) == ["a", "\u{FEFF}b"])
    }

    @Test("the client does not deliver an event without data")
    func noData() async throws {
        let events = try await events(of: ["event: a\n\nid: 1\n\ndata: x\n\n"])
        #expect(events == [ServerSentEvent(data: "x", id: "1")])
    }

    @Test("the stream fails after a redirect without a location", arguments: [301, 302, 303, 307, 308])
    func endlessRedirect(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.redirect(status, to: nil)])
            #expect(
                await Recording(EventStream(server.url, options: .quick, connector: .patient)).end()?.code
                    == .redirectRefused
            )
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client does not repeat a POST by default")
    func repeatedPost() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.send("data: x\n\n"), .disconnect])])
            let request = EventStreamRequest(server.url, method: "POST", body: [1])
            let error = await Recording(EventStream(request, connector: .patient)).end()
            #expect(error?.code == .connectionLost)
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client does not reconnect after status 204")
    func noContent() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: 204)])
            let stream = EventStream(server.url, options: .quick, connector: .patient)
            for try await _ in stream.events {}
            #expect(stream.state == .closed(nil))
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client does not reconnect after the app closes the stream")
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

    @Test("the client closes old connections when it reconnects")
    func leakedConnections() async throws {
        try await EventSourceTestServer.withServer { server in
            let most = NIOLockedValueBox(0)
            server.respond { exchange in
                most.withLockedValue { $0 = max($0, server.connectionCount) }
                try await exchange.play(exchange.number == 100 ? TestResponse(status: 204) : .text("data: x\n\n"))
            }
            for try await _ in EventStream(server.url, options: .quick, connector: .patient).events {}
            #expect(server.requests.count == 100)
            // Two connections can overlap while one closes and the next one opens.
            #expect(most.withLockedValue { $0 } <= 3)
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("releasing a connected event source disconnects it")
    func immortal() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open()])
            let url = try #require(URL(string: server.url))
            var source: EventSource? = EventSource(url: url)
            weak let weakSource = source
            source?.onComplete { _, _, _ in Issue.record("called back after the release") }
            source?.connect()
            await server.waitForRequests()
            source = nil
            #expect(weakSource == nil)
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("releasing the iterator of a stream closes the connection")
    func released() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\n")])
            var events: EventStreamEvents.AsyncIterator? = EventStream(server.url, connector: .patient).events
                .makeAsyncIterator()
            let event = try await events?.next()
            #expect(event?.data == "x")
            #expect(server.connectionCount == 1)
            events = nil
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("a stream releases its connector after it has ended or failed", arguments: [200, 204, 307, 404])
    func immortalStream(_ status: Int) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(status: status)])
            var connector: EventStreamConnector? = EventStreamConnector.patient
            weak let weakConnector = connector
            if let connector {
                _ = await Recording(EventStream(server.url, options: .once, connector: connector)).end()
            }
            connector = nil
            // The event loop releases the connector with a short delay.
            await waitUntil { weakConnector == nil }
        }
    }

    @Test("two streams to the same URL have independent ids")
    func sharedID() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("id: 1\ndata: x\n\n")])
            let first = EventStream(server.url, options: .once, connector: .patient)
            for try await _ in first.events {}
            let second = EventStream(server.url, options: .once, connector: .patient)
            for try await _ in second.events { break }
            #expect(server.requests[1].header("Last-Event-ID") == nil)
        }
    }

    @Test("concurrent streams do not mix their data")
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

    @Test("an event source reports the loss of a connection after the response has begun")
    func swallowedError() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([TestResponse(steps: [.disconnect])])
            let error = await completion(of: server.url)
            #expect(error == NSURLErrorNetworkConnectionLost)
        }
    }

    @Test("an event source opens only after status 200, and is closed after the response")
    func states() async throws {
        for status in [200, 404] {
            try await EventSourceTestServer.withServer { server in
                server.script([TestResponse(status: status)])
                let source = EventSource(url: try #require(URL(string: server.url)), headers: [:], connector: .patient)
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
