import EventSourceTestServer
import Foundation
import NIOConcurrencyHelpers
import RealtimePrimitives
import ServerSentEvents
import TestSupport
import TestTraits
import Testing

@Suite("Connections of event streams", .limited)
struct ConnectionTests {
    @Test(
        "the client reconnects after a complete response, a closed connection or a reset",
        arguments: ["end", "disconnect", "reset"]
    )
    func reconnects(_ way: String) async throws {
        try await EventSourceTestServer.withServer { server in
            let (taken, take) = AsyncStream.makeStream(of: Void.self)
            server.respond { exchange in
                try await exchange.start()
                try await exchange.send("id: \(exchange.number)\ndata: x\n\n")
                // The test waits, because a reset discards data that has not arrived yet.
                await taken.first { _ in true }
                switch way {
                case "end": try await exchange.end()
                case "disconnect": try await exchange.disconnect()
                default: try await exchange.reset()
                }
            }
            var ids: [String] = []
            for try await event in EventStream(server.url, options: .quick, connector: .patient).events {
                ids.append(event.id)
                if ids.count == 3 { break }
                take.yield()
            }
            take.finish()
            #expect(ids == ["1", "2", "3"])
            #expect(server.requests.map { $0.header("Last-Event-ID") } == [nil, "1", "2"])
        }
    }

    @Test("close ends the stream while it connects, when it is open, and within the loop")
    func close() async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond(at: "/silent") { await $0.disconnected() }
            server.script([.open("data: a\n\n")], at: "/open")
            let silent = Recording(EventStream(server.url + "/silent", connector: .patient))
            await server.waitForRequests()
            silent.stream.close()
            #expect(await silent.next() == .end)

            let open = Recording(EventStream(server.url + "/open", connector: .patient))
            #expect(await open.nextEvent() != nil)
            open.stream.close()
            #expect(await open.next() == .end)

            server.script([.open("data: a\n\ndata: b\n\ndata: c\n\n")], at: "/three")
            let stream = EventStream(server.url + "/three", connector: .patient)
            var count = 0
            for try await _ in stream.events {
                count += 1
                if count == 2 { stream.close() }
            }
            #expect(count == 2)
            for await state in stream.states where state == .closed(nil) { break }
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("close ends the stream while the host is being resolved")
    func closeWhileResolving() async throws {
        for _ in 1...20 {
            // The name has no address. If the resolver fails at once, the client tries again.
            let recording = Recording(EventStream("http://no-such-host.invalid", options: .quick, connector: .patient))
            for await state in recording.stream.states { if case .connecting = state { break } }
            recording.stream.close()
            #expect(await recording.end() == nil)
            for await state in recording.stream.states where state == .closed(nil) { break }
        }
    }

    @Test("the app can close the stream inside its closures")
    func closeInClosures() async throws {
        struct ClosingPolicy: RetryPolicy {
            let close: @Sendable () -> Void

            func delay(for context: RetryContext) -> Duration? {
                close()
                return .zero
            }
        }
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: 1\n\ndata: 2\n\n")])
            let url = server.url
            let stream = NIOLockedValueBox<EventStream?>(nil)
            let close: @Sendable () -> Void = { stream.withLockedValue { $0 }?.close() }
            func follow(_ new: EventStream) async throws -> [String] {
                stream.withLockedValue { $0 = new }
                var data: [String] = []
                for try await event in new.events { data.append(event.data) }
                #expect(new.state == .closed(nil))
                return data
            }
            let closingRequest = EventStream { _ in
                close()
                return EventStreamRequest(url)
            }
            #expect(try await follow(closingRequest) == [])
            #expect(server.requests.count == 0)
            var options = EventStreamOptions.quick
            options.retryPolicy = ClosingPolicy(close: close)
            #expect(try await follow(EventStream(url, options: options, connector: .patient)) == ["1", "2"])
            #expect(server.requests.count == 1)
            let decoded = EventStream(url, options: .quick, connector: .patient)
            stream.withLockedValue { $0 = decoded }
            var numbers: [Int] = []
            let values = decoded.events { event -> Int? in
                close()
                return try event.decode(Int.self)
            }
            for try await number in values { numbers.append(number) }
            #expect(numbers == [1])
        }
    }

    @Test("the client closes the connection when the server has closed its half")
    func halfClosed() async throws {
        try await EventSourceTestServer.withServer { server in
            let (ended, end) = AsyncStream.makeStream(of: Int.self)
            server.respond { exchange in
                try await exchange.start()
                try await exchange.send("id: \(exchange.number)\ndata: x\n\nid: 9\ndata: cut off")
                if exchange.number == 1 { try await exchange.endSending() }
                await exchange.disconnected()
                end.yield(exchange.number)
            }
            let recording = Recording(EventStream(server.url, options: .quick, connector: .patient))
            #expect(await recording.nextEvent()?.id == "1")
            #expect(await recording.nextError()?.code == .connectionLost)
            #expect(await recording.nextEvent()?.id == "2")
            #expect(await ended.first { _ in true } == 1)
            #expect(server.requests.last?.header("Last-Event-ID") == "1")
        }
    }

    @Test("iterating a stream that the app has already closed ends at once")
    func closedBefore() async throws {
        let stream = EventStream("http://127.0.0.1:9", connector: .patient)
        stream.close()
        for try await _ in stream.events { Issue.record("an event of a closed stream") }
    }

    @Test("iterating a stream twice throws")
    func once() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: x\n\n")])
            let stream = EventStream(server.url, options: .once, connector: .patient)
            for try await _ in stream.events {}
            await #expect {
                for try await _ in stream.events {}
            } throws: {
                ($0 as? EventStreamError)?.code == .alreadyIterated
            }
            #expect(server.requests.count == 1)
        }
    }

    @Test("the states contain each change, and end when the stream is closed")
    func states() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: x\n\n"), TestResponse(status: 204)])
            let stream = EventStream(server.url, options: .quick, connector: .patient)
            let states = stream.states
            for try await _ in stream.events {}
            var names: [String] = []
            for await state in states { names.append(String("\(state)".prefix { $0 != "(" })) }
            #expect(names == ["idle", "connecting", "open", "waiting", "connecting", "closed"])
        }
    }

    @Test("the states end when a stream is released that was never iterated")
    func statesOfAReleasedStream() async {
        var stream: EventStream? = EventStream("http://127.0.0.1/", connector: .patient)
        let states = stream?.states
        stream = nil
        var seen: [EventStream.State] = []
        if let states { for await state in states { seen.append(state) } }
        #expect(seen == [.idle, .closed(nil)])
    }

    @Test("a slow consumer makes the server wait, and memory stays limited")
    func slowConsumer() async throws {
        try await EventSourceTestServer.withServer { server in
            let sent = Log<Int>()
            let megabyte = "data: \(String(repeating: "x", count: 1 << 20))\n\n"
            server.respond { exchange in
                try await exchange.start()
                for number in 1...200 {
                    try await exchange.send(megabyte)
                    sent.append(number)
                }
                await exchange.disconnected()
            }
            let stream = EventStream(
                server.url,
                options: with(EventStreamOptions()) { $0.receiveBufferSize = 1 << 20 },
                connector: .patient
            )
            var events = stream.events.makeAsyncIterator()
            _ = try await events.next()
            await waitUntil { stream.statistics.bytes >= 2 << 20 }
            // Meanwhile, other connections continue on the same threads.
            for _ in 1...100 {
                #expect(
                    await Recording(EventStream(server.url + "/none", connector: .patient)).end()?.httpStatus == 404
                )
            }
            #expect(stream.statistics.bytes < 4 << 20)
            #expect(sent.count < 100)
            for _ in 2...50 { _ = try await events.next() }
            #expect(stream.statistics.bytes < 54 << 20)
        }
    }

    @Test("one connector serves 1,000 streams at once")
    func thousand() async throws {
        try await EventSourceTestServer.withServer { server in
            server.respond { exchange in
                try await exchange.start()
                try await exchange.send("data: a\n\n")
                await server.waitForRequests(count: 1_000)
                try await exchange.send("data: b\n\n")
                await exchange.disconnected()
            }
            let connector = EventStreamConnector.patient
            try await withThrowingTaskGroup { group in
                for _ in 1...1_000 {
                    group.addTask {
                        var data = ""
                        for try await event in EventStream(server.url, connector: connector).events {
                            data += event.data
                            if data == "ab" { break }
                        }
                        return data
                    }
                }
                for try await data in group { #expect(data == "ab") }
            }
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("the sequence ends at its last event, and delivers no later events")
    func sentinel() async throws {
        try await EventSourceTestServer.withServer { server in
            let chunks = ["data: 1\n\ndata: 2\n\nda", "ta: [DO", "NE]\n", "\ndata: 3\n\n"]
            server.script([TestResponse(steps: chunks.map { .send($0) }, holds: true)])
            var numbers: [Int] = []
            for try await number in EventStream(server.url, connector: .patient).events(as: Int.self, until: "[DONE]") {
                numbers.append(number)
            }
            #expect(numbers == [1, 2])
            var data: [String] = []
            for try await event in EventStream(server.url, connector: .patient).events(
                includingLast: true,
                until: { $0.data == "2" }
            ) {
                data.append(event.data)
            }
            #expect(data == ["1", "2"])
            await waitUntil { server.connectionCount == 0 }
        }
    }

    @Test("the sequence throws if the response ends before the last event")
    func noSentinel() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: 1\n\n")])
            var events = EventStream(server.url, options: .once, connector: .patient).events(until: "[DONE]")
                .makeAsyncIterator()
            let first = try await events.next()
            #expect(first?.data == "1")
            do throws(EventStreamError) {
                _ = try await events.next()
                Issue.record("nothing was thrown")
            } catch {
                #expect(error.code == .connectionLost)
            }
            let last = try await events.next()
            #expect(last == nil)
        }
    }

    @Test("a decoding error contains the event, and the sequence can continue")
    func decoding() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: 1\n\nevent: e\ndata: x\n\ndata: 3\n\n")])
            var numbers = EventStream(server.url, options: .once, connector: .patient).events(as: Int.self)
                .makeAsyncIterator()
            #expect(try await numbers.next() == 1)
            do throws(EventStreamError) {
                _ = try await numbers.next()
                Issue.record("nothing was thrown")
            } catch {
                #expect(error.code == .decodingFailed)
                #expect(error.event == ServerSentEvent(event: "e", data: "x"))
                #expect(error.cause is DecodingError)
            }
            #expect(try await numbers.next() == 3)
            #expect(try await numbers.next() == nil)

            let skipped = Log<EventStreamError>()
            let rest = EventStream(server.url, options: .once, connector: .patient)
                .events(as: Int.self, onDecodingFailure: .skip { skipped.append($0) })
            var taken: [Int] = []
            for try await number in rest { taken.append(number) }
            #expect(taken == [1, 3])
            #expect(skipped.elements.map(\.event?.data) == ["x"])
        }
    }

    @Test("a closure can decode each type of event as a different type")
    func decodingBy() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("event: ping\ndata: {}\n\nevent: text\ndata: \"a\"\n\nevent: stop\ndata: 1\n\n")])
            let values = EventStream(server.url, options: .once, connector: .patient).events { event -> String? in
                switch event.event {
                case "text": try event.decode(String.self)
                case "stop": try "stop \(event.decode(Int.self))"
                default: nil
                }
            }
            var taken: [String] = []
            for try await value in values { taken.append(value) }
            #expect(taken == ["a", "stop 1"])
        }
    }

    private static let answer = "event: piece\ndata: 1\n\nevent: piece\ndata: 2\n\nevent: stop\ndata: {}\n\ndata: 4\n\n"

    @Test("a typed sequence ends at a type of event, at an event, or at a value")
    func typedEnd() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open(Self.answer)])
            let ends: [(EventStreamEnd<Int>, [Int])] = [
                (.event("stop"), [1, 2]), (.event { $0.data == "{}" }, [1, 2]), (.data("2"), [1]),
                (.value { $0 == 2 }, [1, 2]), ("2", [1]),
            ]
            for (end, expected) in ends {
                var decoded: [Int] = []
                for try await value in EventStream(server.url, connector: .patient).events(as: Int.self, until: end) {
                    decoded.append(value)
                }
                #expect(decoded == expected)
                decoded = []
                for try await value in EventStream(server.url, connector: .patient)
                    .events(until: end, decodingBy: { Int($0.data) })
                { decoded.append(value) }
                #expect(decoded == expected)
            }
        }
    }

    @Test("a typed sequence throws if the response ends before its end", arguments: [true, false])
    func truncated(byType: Bool) async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.text("event: piece\ndata: 1\n\n")])
            let stream = EventStream(server.url, options: .once, connector: .patient)
            var values = stream.events(
                until: byType ? .event("stop") : .value { $0 == 2 },
                decodingBy: { Int($0.data) }
            ).makeAsyncIterator()
            let first = try await values.next()
            #expect(first == 1)
            do {
                _ = try await values.next()
                Issue.record("nothing was thrown")
            } catch {
                #expect((error as? EventStreamError)?.code == .connectionLost)
            }
        }
    }

    @Test("what the app's closure throws reaches the app as it is, and the sequence can continue")
    func closureThrows() async throws {
        struct Refusal: Error, Equatable { var text: String }
        try await EventSourceTestServer.withServer { server in
            server.script([.text("data: 1\n\nevent: error\ndata: no\n\ndata: x\n\ndata: 4\n\n")])
            let skipped = Log<EventStreamError>()
            for failure in [EventDecodingFailure.fail, .skip { skipped.append($0) }] {
                var values = EventStream(server.url, options: .once, connector: .patient)
                    .events(onDecodingFailure: failure) { event -> Int? in
                        if event.event == "error" { throw Refusal(text: event.data) }
                        return try JSONDecoder().decode(Int.self, from: Data(event.data.utf8))
                    }.makeAsyncIterator()
                var taken: [Int] = []
                var errors: [any Error] = []
                while true {
                    do {
                        guard let value = try await values.next() else { break }
                        taken.append(value)
                    } catch {
                        errors.append(error)
                    }
                }
                #expect(taken == [1, 4])
                #expect(errors.first as? Refusal == Refusal(text: "no"))
                if case .fail = failure {
                    #expect(errors.count == 2)
                    #expect(errors.last is DecodingError)
                } else {
                    #expect(errors.count == 1)
                }
            }
            #expect(skipped.elements.map(\.code) == [.decodingFailed])
            #expect(skipped.elements.map(\.event?.data) == ["x"])
        }
    }

    @Test("the stream fails after an event that is too large")
    func tooLarge() async throws {
        try await EventSourceTestServer.withServer { server in
            let line = "data: \(String(repeating: "x", count: 1_000))"
            server.script([TestResponse(steps: [.send("data: a\n\n"), .every(.zero, send: line, times: 100)])])
            let recording = Recording(
                EventStream(
                    server.url,
                    options: with(EventStreamOptions()) {
                        $0.reconnection = .always; $0.maximumMessageSize = 10_000
                    },
                    connector: .patient
                )
            )
            #expect(await recording.nextEvent()?.data == "a")
            let error = try #require(await recording.nextError())
            #expect(error.code == .messageTooBig)
            var last: EventStream.State?
            for await state in recording.stream.states { last = state }
            #expect(last == .closed(error))
            #expect(recording.stream.state == .closed(error))
            #expect(server.requests.count == 1)
        }
    }

    @Test("the client closes the connections of 200 released streams")
    func leavesNothing() async throws {
        try await EventSourceTestServer.withServer { server in
            server.script([.open("data: x\n\n")])
            for _ in 1...200 {
                let stream = EventStream(server.url, connector: .patient)
                for try await _ in stream.events { break }
            }
            await waitUntil { server.connectionCount == 0 }
        }
    }
}
