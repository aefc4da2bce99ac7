import NIOCore
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Faults of connections over HTTP", .limited)
struct HTTPTransportFaultTests {
    private static let polling = "/app/app-key/1/polling"

    /// Opens a polled session that has its greeting and no receiving request.
    private func polled(_ world: TransportWorld, _ session: String = polling) {
        for _ in 1...2 { _ = world.poll(session) }
    }

    // MARK: Faults of every connection

    @Test("dropConnections ends the session and drops its stream or held poll")
    func drop() {
        let world = TransportWorld()
        let stream = world.stream()
        polled(world)
        let poll = world.poll(Self.polling)
        polled(world, "/app/app-key/1/between")
        world.server.sendText("before", to: .socket("7.3"))
        world.server.dropConnections()
        world.run()
        #expect(stream.hasFailed && !stream.hasEnded)
        #expect(poll.hasFailed && poll.body.isEmpty)
        #expect(world.server.connections.isEmpty)
        #expect(world.server.records.count { $0.event == .connectionEnded } == 3)
        // The frames for the next poll are lost, and the poll does not reopen the session.
        #expect(world.poll("/app/app-key/1/between").status == 404)
        #expect(world.stream().status == 404 && world.send("[]", Self.polling).status == 404)
        #expect(world.stream("/app/app-key/1/new").body == "o\n" + greeting(4))
    }

    @Test("a silent server accepts requests, but sends no messages, heartbeats or open frame")
    func silence() {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        polled(world)
        let poll = world.poll(Self.polling)
        world.server.goSilent()
        #expect(world.send(messages: [Envelope.ping.jsonText]).status == 204)
        #expect(world.send("[]").status == 204)
        world.advance(by: .seconds(120))
        #expect(stream.next() == "" && stream.isOpen && poll.isSilent)
        #expect(world.server.receivedMessages() == [Envelope.ping.jsonText])
        let new = world.stream("/app/app-key/1/new")
        #expect(new.status == 200 && new.body.isEmpty && new.isOpen)
        // Commands still apply to a silent connection.
        world.server.sendText("x", to: .socket("7.1"))
        world.run()
        #expect(stream.next() == frame("x"))
        world.server.speakAgain()
        _ = world.send(messages: [Envelope.ping.jsonText], Self.polling)
        #expect(poll.body == frame(Dialect.pusher.pong))
        #expect(new.body.isEmpty)
        _ = world.send("[]", "/app/app-key/1/new")
        #expect(new.body == "o\na[]\n")
    }

    @Test("a delay applies to messages in order, but not to the open frame and heartbeats")
    func delay() {
        let world = TransportWorld()
        world.server.delayMessages(by: .seconds(2))
        let stream = world.stream()
        #expect(stream.next() == "o\n")
        world.advance(by: .seconds(1))
        world.server.sendText("x")
        world.advance(by: .seconds(1))
        #expect(stream.next() == greeting())
        world.advance(by: .seconds(1))
        #expect(stream.next() == frame("x"))
        world.server.closeConnections(code: 4200, reason: "")
        world.advance(by: .seconds(2))
        #expect(stream.next() == "c[4200,\"\"]\n" && stream.hasEnded)
    }

    @Test("each fault makes new connections over a stream fail in its own way")
    func connectionFaults() {
        let world = TransportWorld()
        func stream(_ fault: PusherTestServer.ConnectionFault, _ name: String) -> TransportWorld.Response {
            world.server.failConnections(1, with: fault)
            return world.stream("/app/app-key/1/\(name)")
        }
        let refused = stream(.refused(status: 503), "a")
        #expect(refused.status == 503 && refused.hasEnded)
        let stalled = stream(.stalled, "b")
        world.advance(by: .seconds(60))
        #expect(stalled.isSilent)
        #expect(world.send("[]", "/app/app-key/1/b").status == 404)
        let dropped = stream(.dropped, "c")
        #expect(dropped.status == nil && dropped.hasFailed)
        let silent = stream(.silent, "d")
        #expect(silent.status == 200 && silent.body.isEmpty)
        #expect(stream(.closed(code: 4200), "e").body == "o\nc[4200,\"\"]\n")
        #expect(stream(.closed(code: nil), "f").body == "o\nc[1005,\"\"]\n")
        let closed = stream(.closedAfterHandshake(code: 4100, reason: "full"), "g")
        #expect(closed.body == "o\n" + greeting(7) + "c[4100,\"full\"]\n" && closed.hasEnded)
        let error = stream(.error(code: 4004, message: "m"), "h")
        #expect(error.body == "o\n" + frame(Dialect.pusher.error(code: 4004, message: "m")) && error.hasFailed)
        #expect(stream(.firstMessage("nonsense"), "i").body == "o\n" + frame("nonsense"))
        stalled.abort()
        silent.abort()
        world.advance(by: .seconds(5))
        #expect(world.server.connections.map(\.socketID) == ["7.9"])
        // A refused client may connect again.
        #expect(world.stream("/app/app-key/1/a").body == "o\n" + greeting(10))
    }

    @Test("each fault makes new connections over polls fail in its own way")
    func connectionFaultsOfPolls() {
        let world = TransportWorld()
        world.server.failConnections(1, with: .closedAfterHandshake(code: 4100))
        #expect(world.poll().body == "o\n")
        #expect(world.poll().body == greeting() + "c[4100,\"\"]\n")
        #expect(world.poll().status == 404)
        world.server.failConnections(1, with: .error(code: nil, message: "m"))
        #expect(world.poll(Self.polling).body == "o\n")
        #expect(world.poll(Self.polling).body == frame(Dialect.pusher.error(code: nil, message: "m")))
        #expect(world.poll(Self.polling).status == 404)
        world.server.failConnections(1, with: .stalled)
        let stalled = world.poll("/app/app-key/1/c")
        let again = world.poll("/app/app-key/1/c")
        world.advance(by: .seconds(60))
        #expect(stalled.isSilent && again.isSilent)
    }

    @Test("over HTTP, a ping becomes a heartbeat, raw bytes stay unchanged, and binary frames are dropped")
    func frames() {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        world.server.sendWebSocketPing()
        world.server.sendBinary([1, 2])
        world.server.sendRawBytes(Array("x{\n".utf8))
        world.server.sendText("\u{1}\"\\\n")
        world.run()
        #expect(stream.next() == "h\nx{\na[\"\\u0001\\\"\\\\\\n\"]\n")
    }

    @Test("over HTTP, the client's messages restart the idle limit")
    func idleLimit() {
        let world = TransportWorld()
        world.server.setIdleLimit(.init(.seconds(30)))
        let stream = world.stream()
        world.advance(by: .seconds(20))
        _ = world.send("[]")
        world.advance(by: .seconds(29))
        #expect(stream.isOpen)
        world.advance(by: .seconds(1))
        #expect(stream.hasFailed && world.server.connections.isEmpty)
    }

    @Test("presence, key rotation and the termination of users also work over HTTP")
    func channels() throws {
        let world = TransportWorld()
        let stream = world.stream()
        _ = world.stream("/app/app-key/1/other")
        let application = world.server.options.application
        for (session, socketID, user) in [(TransportWorld.session, "7.1", "1"), ("/app/app-key/1/other", "7.2", "2")] {
            let data = #"{"user_id":"\#(user)"}"#
            let signed = application.authorization(
                socketID: socketID,
                channel: "presence-a",
                channelData: data,
                masterKey: nil
            )
            let subscribe = Envelope.subscribe(channel: "presence-a", auth: signed.auth, channelData: data)
            _ = world.send(messages: [subscribe.jsonText], session)
        }
        #expect(world.server.members(of: "presence-a").map(\.userID) == ["1", "2"])
        #expect(stream.next().contains("member_added"))
        world.server.dropConnections(.socket("7.2"))
        world.run()
        #expect(stream.next().contains("member_removed"))
        world.server.rotateEncryptionKey()
        try world.server.publish(event: "e", data: "{}", to: "presence-a")
        world.run()
        #expect(stream.next().contains(#"\"event\":\"e\""#))
    }

    // MARK: Faults of requests

    @Test("the server answers requests with the status of the fault, and does not change the session")
    func statuses() {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        world.server.failTransportRequests(1, of: .sending, with: .status(404))
        world.server.failTransportRequests(1, of: .polling, with: .status(503))
        #expect(world.send(messages: [Envelope.ping.jsonText]).status == 404)
        #expect(world.server.receivedMessages().isEmpty)
        #expect(world.poll(Self.polling).status == 503)
        #expect(world.server.connections.count == 1)
        #expect(world.send(messages: [Envelope.ping.jsonText]).status == 204)
        #expect(stream.next() == frame(Dialect.pusher.pong))
        #expect(world.poll(Self.polling).body == "o\n")
        let faults = world.server.records.compactMap { record in
            if case .transportRequestFailed(let fault) = record.event { fault } else { nil }
        }
        #expect(faults == [.status(404), .status(503)])
        // A fault with a count applies before a fault without a count.
        world.server.failTransportRequests(with: .status(502))
        world.server.failTransportRequests(1, of: .sending, with: .status(501))
        #expect(world.send("[]").status == 501)
        #expect(
            [world.send("[]").status, world.stream("/app/app-key/1/x").status, world.poll().status] == [502, 502, 502]
        )
        world.server.acceptTransportRequests()
        #expect(world.send("[]").status == 204)
    }

    @Test("faults drop requests, leave them unanswered, or drop only the answer")
    func lostRequests() {
        let world = TransportWorld()
        _ = world.stream()
        let ping = Envelope.ping.jsonText
        world.server.failTransportRequests(1, of: .sending, with: .dropped)
        let dropped = world.send(messages: [ping])
        #expect(dropped.hasFailed && dropped.status == nil && world.server.receivedMessages().isEmpty)
        world.server.failTransportRequests(1, of: .sending, with: .unanswered)
        let unanswered = world.send(messages: [ping])
        world.advance(by: .seconds(60))
        #expect(unanswered.isSilent && world.server.receivedMessages().isEmpty)
        world.server.failTransportRequests(1, of: .all, with: .answerLost)
        let lost = world.send(messages: [ping])
        #expect(lost.hasFailed && lost.status == nil && world.server.receivedMessages() == [ping])
        world.server.failTransportRequests(1, of: .receiving, with: .answerLost)
        #expect(world.stream("/app/app-key/1/x").hasFailed && world.server.connections.count == 1)
    }

    @Test("newer requests overtake delayed requests")
    func delayedRequests() {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        world.server.failTransportRequests(1, of: .sending, with: .delayed(.seconds(2)))
        let first = world.send(messages: [Envelope.subscribe(channel: "a").jsonText])
        let second = world.send(messages: [Envelope.subscribe(channel: "b").jsonText])
        #expect(first.isSilent && second.status == 204)
        world.advance(by: .seconds(2))
        #expect(first.status == 204)
        let answers = ["b", "a"].map { Dialect.pusher.subscriptionSucceeded(channel: $0) }
        #expect(stream.next() == answers.map { frame($0) }.joined())
        // A delayed request has no effect if the client has aborted it.
        world.server.failTransportRequests(2, with: .delayed(.seconds(2)))
        let given = world.poll(Self.polling)
        world.send(messages: [Envelope.ping.jsonText]).abort()
        given.abort()
        world.advance(by: .seconds(60))
        #expect(world.server.connections.count == 1 && world.server.receivedMessages().count == 2)
    }

    @Test("a duplicated poll gets 2010 and ends the session")
    func duplicatedPoll() {
        let world = TransportWorld()
        polled(world)
        world.server.failTransportRequests(1, with: .duplicated)
        #expect(world.send("[]", Self.polling).status == 204)
        world.server.failTransportRequests(1, of: .polling, with: .duplicated)
        let poll = world.poll(Self.polling)
        #expect(poll.status == 200 && poll.body == "c[2010,\"Another connection still open\"]\n" && poll.hasEnded)
        #expect(world.server.connections.isEmpty && world.poll(Self.polling).status == 404)
    }

    @Test("a session continues after the server completes its stream or cuts its stream")
    func endedStreams() {
        let world = TransportWorld()
        let first = world.stream()
        world.server.endStreams()
        world.run()
        #expect(first.hasEnded && first.body == "o\n" + greeting())
        world.server.sendText("x")
        let second = world.stream()
        #expect(second.body == frame("x"))
        world.server.endStreams(.socket("7.1"), cleanly: false)
        world.run()
        #expect(second.hasFailed)
        #expect(world.server.connections.count == 1)
        world.advance(by: .seconds(5))
        #expect(world.server.connections.isEmpty)
        polled(world)
        let poll = world.poll(Self.polling)
        world.server.endStreams()
        world.run()
        #expect(poll.isSilent)
    }

    @Test("in a lost session, sends get 404, and receiving requests get an open frame or 404")
    func lostSessions() {
        for (answer, status, body) in [
            (PusherTestServer.LostSession.newSession, 200, "o\n"), (.notFound, 404, "the session has ended"),
        ] {
            let world = TransportWorld()
            let stream = world.stream()
            polled(world)
            let poll = world.poll(Self.polling)
            world.server.loseSessions(answering: answer)
            world.run()
            #expect(stream.body.hasSuffix(greeting()) && stream.isOpen)
            #expect(poll.body == "h\n" && poll.hasEnded)
            #expect(world.server.connections.isEmpty)
            #expect(world.server.records.count { $0.event == .sessionLost } == 2)
            world.server.sendText("nobody hears it")
            world.advance(by: .seconds(60))
            #expect(stream.isOpen && stream.body.hasSuffix(greeting()))
            #expect(world.send("[]").status == 404)
            let next = world.poll(Self.polling)
            #expect(next.status == status && next.body == body)
            stream.abort()
            world.run()
            #expect(world.stream().body.hasPrefix(body))
        }
    }

    @Test("bufferStreams holds bytes back until enough bytes are waiting or the stream ends")
    func bufferingProxy() {
        let world = TransportWorld()
        world.server.bufferStreams(until: 1_000)
        let stream = world.stream()
        #expect(stream.status == 200 && stream.body.isEmpty)
        world.server.sendText(String(repeating: "x", count: 500))
        world.run()
        #expect(stream.body.isEmpty)
        world.server.sendText(String(repeating: "y", count: 500))
        world.run()
        #expect(stream.next().hasPrefix("o\n" + greeting()))
        world.server.sendText("z")
        world.advance(by: .seconds(60))
        #expect(stream.next() == "")
        // Polls end at once, so no message waits.
        #expect(world.poll(Self.polling).body == "o\n")
        world.server.endStreams()
        world.run()
        #expect(stream.next() == frame("z") + "h\nh\n" && stream.hasEnded)
        let next = world.stream()
        world.server.sendText("1")
        world.run()
        #expect(next.body.isEmpty)
        world.server.bufferStreams(until: nil)
        world.server.sendText("2")
        world.run()
        #expect(next.body == frame("1") + frame("2"))
    }

    // MARK: The network

    @Test("network faults affect exchanges as well as links")
    func network() {
        let world = TransportWorld()
        world.network.failLinks(1, with: .unreachable)
        #expect(world.stream().hasFailed)
        world.network.failLinks(1, with: .blackHole)
        let lost = world.stream()
        world.advance(by: .seconds(60))
        #expect(lost.isSilent && world.server.connections.isEmpty)
        let stream = world.stream()
        _ = stream.next()
        world.network.blackHoleLinks()
        world.server.sendText("lost")
        world.run()
        #expect(stream.next() == "")
        #expect(world.send("[]").status == 204)
        world.network.restoreLinks()
        world.network.cutLinks()
        world.run()
        #expect(stream.hasFailed)
        // The server sends the message again, because the message has not arrived.
        #expect(world.stream().body == frame("lost") + "a[]\n")
        #expect(world.network.exchanges.count == 1)
    }

    @Test("10,000 events arrive once and in order, even if streams and polls fail, end and move")
    func onceAndInOrder() throws {
        var generator = SeededGenerator(seed: 26)
        for isStreaming in [true, false] {
            let world = TransportWorld { $0.clientEventsPerSecond = nil }
            world.network.latency = .milliseconds(7)
            var body = ""
            var receiving: TransportWorld.Response?
            var published = 0
            func received() -> Bool { published == 10_000 && body.contains("<9999>") }
            while !received() {
                if receiving?.isOpen != true {
                    let response = isStreaming ? world.stream() : world.poll()
                    receiving = response
                    try #require(response.status == nil || response.status == 200)
                }
                if world.server.connections.first?.isEstablished == true {
                    for _ in 0..<Int.random(in: 0...60, using: &generator) where published < 10_000 {
                        world.server.sendText("<\(published)>" + String(repeating: "x", count: 90))
                        published += 1
                    }
                }
                world.advance(by: .milliseconds(Int64.random(in: 0...12, using: &generator)))
                if isStreaming {
                    switch Int.random(in: 0..<40, using: &generator) {
                    case 0: world.network.cutLinks()
                    case 1: world.server.endStreams(cleanly: false)
                    default: break
                    }
                } else if Int.random(in: 0..<20, using: &generator) == 0 {
                    world.network.cutLinks()
                }
                let isMoving = Int.random(in: 0..<40, using: &generator) == 0
                if isMoving { receiving?.abort() }
                body += receiving?.next() ?? ""
                if isMoving { receiving = nil }
            }
            let lines = body.split(separator: "\n")
            let messages = lines.flatMap {
                JSONValue(parsing: String($0.dropFirst()))?.array?.compactMap(\.string) ?? []
            }
            let numbers = messages.compactMap { message in
                message.hasPrefix("<") ? Int(message.dropFirst().prefix { $0 != ">" }) : nil
            }
            #expect(numbers.elementsEqual(0..<10_000))
            #expect(lines.count { $0 == "o" } == 1)
        }
    }
}
