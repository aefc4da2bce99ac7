import PusherClient
import PusherProtocol
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import pusher

@Suite("The console's updates and actions", .limited)
struct ConsoleTests {
    @Test("the updates show connections, channels and members that appear and disappear")
    func live() async throws {
        try await RunningConsole.run { console async throws in
            let pusher = console.client()
            let room = pusher.subscribe("presence-room")
            try await pusher.connected()
            try await room.subscribed()
            let socketID = try #require(pusher.connection.socketId)
            let updates = try await console.updates { updates in
                updates.state?["channels"]?.array?.first?["members"]?.array?.count == 1
            }
            let state = try #require(updates.state)
            let connection = try #require(state["connections"]?.array?.first)
            #expect(state["connectionCount"]?.integer == 1 && connection["id"]?.string == socketID)
            #expect(connection["channels"] == ["presence-room"] && connection["isSilent"] == false)
            #expect(state["channels"]?.array?.first?["name"] == "presence-room")
            #expect(updates.lines.contains("\(socketID) subscribed presence-room"))
            await pusher.disconnected()
            try await console.updates { $0.state?["connectionCount"] == 0 }
        }
    }

    @Test("a published event reaches a client, and the console's line precedes the client's line")
    func publish() async throws {
        try await RunningConsole.run { console async throws in
            let pusher = console.client()
            let channel = pusher.subscribe("orders")
            var events = channel.events(named: "created").makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()
            let response = try await console.act(
                #"{"action":"publish","event":"created","channel":"orders","data":"{\"id\":1}"}"#
            )
            #expect(response.status == 200 && response.body == "Sent to 1 connection.")
            #expect(await events.next()?.data == #"{"id":1}"#)
            let socketID = try #require(pusher.connection.socketId)
            let got = "\(socketID) got created orders {\"id\":1}"
            let lines = try await console.updates { $0.lines.contains(got) }.lines
            let published = try #require(lines.firstIndex(of: "console published created orders {\"id\":1}"))
            #expect(try #require(lines.firstIndex(of: got)) > published)
            await pusher.disconnected()
        }
    }

    @Test("each action for a fault affects the connections or the keys")
    func faults() async throws {
        try await RunningConsole.run { console async throws in
            let pusher = console.client()
            let channel = pusher.subscribe("orders")
            var statuses = pusher.statuses.makeAsyncIterator()
            var errors = pusher.errors.makeAsyncIterator()
            try await pusher.connected()
            try await channel.subscribed()

            #expect(try await console.act(#"{"action":"close","code":4200,"reason":"away"}"#).status == 200)
            #expect(await errors.next()?.serverCode == 4200)
            while case .some(let status) = await statuses.next() { if case .waiting = status { break } }
            while case .some(let status) = await statuses.next() { if case .connected = status { break } }

            let socketID = try #require(pusher.connection.socketId)
            #expect(try await console.act(#"{"action":"drop","socket":"\#(socketID)"}"#).status == 200)
            while case .some(let status) = await statuses.next() { if case .connected = status { break } }
            #expect(try await console.act(#"{"action":"drop","socket":"\#(socketID)"}"#).status == 409)
            try await channel.subscribed()

            #expect(try await console.act(#"{"action":"silence","channel":"orders"}"#).status == 200)
            #expect(console.server.connections.map(\.isSilent) == [true])
            #expect(try await console.act(#"{"action":"speak"}"#).status == 200)
            #expect(console.server.connections.map(\.isSilent) == [false])

            #expect(try await console.act(#"{"action":"delay","milliseconds":30}"#).status == 200)
            try await console.updates { $0.state?["delay"] == 30 }
            var events = channel.events(named: "e").makeAsyncIterator()
            let start = ContinuousClock.now
            try console.server.publish(event: "e", data: "{}", to: "orders")
            #expect(await events.next() != nil && ContinuousClock.now - start >= .milliseconds(30))
            #expect(try await console.act(#"{"action":"delay","milliseconds":0}"#).status == 200)

            let key = { console.server.authorization(forSocket: "1.1", channel: "private-encrypted-a").sharedSecret }
            let before = key()
            #expect(try await console.act(#"{"action":"rotateKey"}"#).status == 200)
            #expect(before != nil && key() != before)
            await pusher.disconnected()
        }
    }

    @Test(
        "the console rejects an invalid action with the reason",
        arguments: [
            ("", 400, "Invalid action: the body is not JSON."), ("[]", 400, "Invalid action"), ("{}", 400, "missing"),
            (#"{"action":"fly"}"#, 400, "there is no action \"fly\""), (#"{"action":"close"}"#, 400, "missing"),
            (#"{"action":"close","code":65536,"reason":""}"#, 400, "code is a number from 0 to 65535"),
            (#"{"action":"delay","milliseconds":-1}"#, 400, "milliseconds is a number from 0 to 60000"),
            (#"{"action":"publish","event":"","channel":"a","data":""}"#, 409, "the name must have"),
            (#"{"action":"publish","event":"e","channel":"a b","data":""}"#, 409, "invalid channel name"),
            (#"{"action":"drop","socket":"1.2"}"#, 409, "Connection 1.2 is not open"),
        ]
    )
    func wrongActions(action: String, status: UInt, reason: String) async throws {
        try await RunningConsole.run { console async throws in
            let response = try await console.act(action)
            #expect(response.status == status && response.body.contains(reason), "\(response.body)")
        }
    }

    @Test("the console rejects data beyond the limit of the server")
    func largeData() async throws {
        try await RunningConsole.run { console async throws in
            let data = String(repeating: "x", count: 10_241)
            let response = try await console.act(#"{"action":"publish","event":"e","channel":"c","data":"\#(data)"}"#)
            #expect(response.status == 409 && response.body.contains("10241"))
        }
    }

    @Test("a page that reconnects gets each missed line once")
    func resuming() async throws {
        try await RunningConsole.run { console async throws in
            for number in 1...3 { #expect(try await console.publish("e\(number)") == 200) }
            let all = try await console.updates { $0.lines.count == 6 }
            let next = try #require(all.last?["next"]?.integer)
            #expect(next == 6)
            #expect(try await console.publish("e4") == 200)
            let rest = try await console.updates(lastEventID: next) { $0.lines.count == 2 }
            #expect(rest.lines.sorted() == ["backend delivered e4 c to nobody", "console published e4 c {}"])
        }
    }

    @Test("removed lines leave a gap between indices")
    func gaps() async throws {
        try await RunningConsole.run(log: ConsoleLog(countLimit: 2)) { console async throws in
            for number in 1...5 { #expect(try await console.publish("e\(number)") == 200) }
            // Each of the five events has two lines. When the last line exists, the log has removed the first eight
            // lines.
            let last = "backend delivered e5 c to nobody"
            _ = try await console.updates { $0.lines.last == last }
            let updates = try await console.updates { $0.lines.count == 2 }
            #expect(updates.lines.last == last)
            #expect(updates.last?["entries"]?.array?.first?["index"] == 8)
        }
    }

    @Test("the console removes a closed page")
    func closedPage() async throws {
        try await RunningConsole.run { console async throws in
            let (opened, continuation) = AsyncStream.makeStream(of: Void.self)
            let page = Task {
                try await console.updates { _ in
                    continuation.yield()
                    return false
                }
            }
            for await _ in opened { break }
            #expect(await console.console.pageCount == 1)
            page.cancel()
            await waitUntil { await console.console.pageCount == 0 }
        }
    }
}

@Suite("The console's log", .limited)
struct ConsoleLogTests {
    private func line(_ payload: String? = nil) -> RecordDescription {
        RecordDescription(kind: .event, who: "1.1", verb: "sent", payload: payload)
    }

    @Test("the log limits the number and the size of its lines")
    func limits() {
        var log = ConsoleLog(countLimit: 3, sizeLimit: 10_000)
        for _ in 0..<5 { log.append(line()) }
        #expect(log.entries(from: 0, limit: 10).map(\.index) == [2, 3, 4])
        log.append(line(String(repeating: "x", count: 9_700)))
        #expect(log.entries(from: 0, limit: 10).map(\.index) == [5])
    }

    @Test("the log cuts long names, and includes names in the size of a line")
    func longNames() throws {
        var log = ConsoleLog(countLimit: 100, sizeLimit: 10_000)
        let long = String(repeating: "x", count: 100_000)
        let line = RecordDescription(kind: .backend, who: long, verb: "requested", subject: long, channel: long)
        for _ in 0..<20 { log.append(line) }
        let entries = log.entries(from: 0, limit: 100)
        #expect(entries.count == 8)
        #expect(try #require(entries.last).channel?.hasSuffix("… (100000 bytes)") == true)
    }

    @Test("lost lines leave a gap between indices")
    func gap() {
        var log = ConsoleLog()
        log.append(line())
        log.skip(2)
        log.append(line())
        #expect(log.entries(from: 0, limit: 10).map(\.index) == [0, 3])
        #expect(log.entries(from: 1, limit: 10).map(\.index) == [3])
        #expect(log.entries(from: 4, limit: 10).isEmpty && log.nextIndex == 4)
    }

    @Test("the log keeps the beginning of a long payload and counts the rest")
    func longPayload() throws {
        var log = ConsoleLog()
        log.append(line(String(repeating: "x", count: 20_000)))
        let entry = try #require(log.entries(from: 0, limit: 1).first)
        #expect(entry.payload?.utf8.count == 16_384 && entry.omittedSize == 20_000 - 16_384)
    }
}
