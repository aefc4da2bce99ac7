import NIOCore
import PusherProtocol
import RealtimeJSON
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("HTTP transports, as pusher-js uses them", .limited)
struct HTTPTransportTests {
    private static let subscribe = Envelope.subscribe(channel: "news").jsonText
    private static let succeeded = Dialect.pusher.subscriptionSucceeded(channel: "news")
    private static let event = #"{"event":"e","data":"{}","channel":"news"}"#

    // MARK: Streaming

    @Test("a stream carries the open frame, the greeting and messages, and the server answers sends with 204")
    func stream() throws {
        let world = TransportWorld()
        let stream = world.stream()
        #expect(stream.status == 200)
        #expect(stream.header("Content-Type") == "application/javascript; charset=UTF-8")
        #expect(stream.next() == "o\n" + greeting())
        let sent = world.send(messages: [Self.subscribe])
        #expect(sent.status == 204 && sent.hasEnded && sent.body.isEmpty)
        #expect(stream.next() == frame(Self.succeeded))
        try world.server.publish(event: "e", data: "{}", to: "news")
        world.run()
        #expect(stream.next() == frame(Self.event))
        let connection = try #require(world.server.connections.first)
        #expect(connection.transport == .httpStreaming && connection.isEstablished)
        #expect(connection.subscribedChannels == ["news"] && connection.socketID == "7.1")
        #expect(connection.request.parameters["client"] == "js" && connection.request.method == "POST")
        #expect(world.server.receivedMessages() == [Self.subscribe])
        #expect(stream.isOpen)
    }

    @Test("SockJS's prelude of 2,048 h and a newline precedes the open frame")
    func prelude() {
        let world = TransportWorld { $0.httpTransports.sendsPrelude = true }
        let stream = world.stream()
        #expect(stream.body == String(repeating: "h", count: 2_048) + "\no\n" + greeting())
        let poll = world.poll("/app/app-key/1/poll")
        #expect(poll.body == "o\n")
    }

    @Test("the answers to the messages of one send share one line, in order")
    func joined() throws {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        let names = ["a", "b", "c"]
        _ = world.send(messages: names.map { Envelope.subscribe(channel: $0).jsonText })
        let answers = names.map { Dialect.pusher.subscriptionSucceeded(channel: $0) }
        #expect(stream.next() == "a" + JSONWriter.array(answers.map { JSONWriter.string($0) }) + "\n")
        #expect(world.server.receivedMessages().count == 3)
    }

    @Test("the server answers a heartbeat with an empty array, and counts the heartbeat as activity")
    func heartbeats() {
        let world = TransportWorld { $0.pingInterval = .seconds(40) }
        let stream = world.stream()
        _ = stream.next()
        world.advance(by: .seconds(25))
        #expect(stream.next() == "h\n")
        #expect(world.send("[]").status == 204)
        #expect(stream.next() == "a[]\n")
        // Without this activity, the server would ping 40 s after the beginning.
        world.advance(by: .seconds(24))
        #expect(stream.next() == "")
        world.advance(by: .seconds(1))
        #expect(stream.next() == "h\n")
        world.advance(by: .seconds(15))
        #expect(stream.next() == frame(Dialect.pusher.ping))
        #expect(world.server.records.contains { $0.event == .pingReceived([]) })
    }

    @Test("a stream gets a heartbeat only after 25 s without a frame")
    func heartbeatsAreRestarted() {
        let world = TransportWorld()
        let stream = world.stream()
        world.advance(by: .seconds(20))
        world.server.sendText("x")
        world.advance(by: .seconds(24))
        #expect(stream.next() == "o\n" + greeting() + frame("x"))
        world.advance(by: .seconds(1))
        #expect(stream.next() == "h\n")
        world.advance(by: .seconds(25))
        #expect(stream.next() == "h\n")
    }

    // MARK: Polling

    @Test("the server answers the first poll with an open frame, and holds later polls until there is a frame")
    func polling() throws {
        let world = TransportWorld()
        let first = world.poll()
        #expect(first.status == 200 && first.body == "o\n" && first.hasEnded)
        let second = world.poll()
        #expect(second.body == greeting() && second.hasEnded)
        let third = world.poll()
        #expect(third.isSilent)
        #expect(world.server.connections.first?.transport == .httpPolling)
        _ = world.send(messages: [Self.subscribe])
        #expect(third.body == frame(Self.succeeded) && third.hasEnded)
    }

    @Test("a poll gets a heartbeat after 25 s, and the session stays open if the client does not answer")
    func heldPoll() {
        let world = TransportWorld()
        for _ in 1...2 { _ = world.poll() }
        var polls = 0
        for _ in 1...10 {
            let poll = world.poll()
            polls += 1
            world.advance(by: .seconds(24))
            #expect(poll.isSilent)
            world.advance(by: .seconds(1))
            #expect(poll.body == "h\n" && poll.hasEnded)
        }
        #expect(polls == 10 && world.server.connections.count == 1)
    }

    @Test("messages between two polls arrive together with the next poll")
    func queue() throws {
        let world = TransportWorld()
        _ = world.poll()
        _ = world.send(messages: [Self.subscribe])
        for number in 1...3 { try world.server.publish(event: "e", data: "\(number)", to: "news") }
        world.advance(by: .seconds(4))
        let poll = world.poll()
        let events = (1...3).map { #"{"event":"e","data":"\#($0)","channel":"news"}"# }
        let texts = [Dialect.pusher.connectionEstablished(socketID: "7.1", activityTimeout: 120), Self.succeeded]
        #expect(poll.body == "a" + JSONWriter.array((texts + events).map { JSONWriter.string($0) }) + "\n")
    }

    @Test("a second poll gets 2010, and the first poll continues")
    func secondPoll() {
        let world = TransportWorld()
        for _ in 1...2 { _ = world.poll() }
        let first = world.poll()
        let second = world.poll()
        #expect(second.status == 200 && second.body == "c[2010,\"Another connection still open\"]\n" && second.hasEnded)
        world.server.sendText("x")
        world.run()
        #expect(first.body == frame("x") && first.hasEnded)
        let stream = world.stream()
        let third = world.poll()
        #expect(third.body.hasPrefix("c[2010,") && stream.isOpen)
    }

    @Test("with the option takesOver, a second poll replaces the first poll")
    func secondPollTakesOver() {
        let world = TransportWorld { $0.httpTransports.secondPoll = .takesOver }
        for _ in 1...2 { _ = world.poll() }
        let first = world.poll()
        let second = world.poll()
        #expect(first.body == "h\n" && first.hasEnded && second.isSilent)
        world.server.sendText("x")
        world.run()
        #expect(second.body == frame("x") && second.hasEnded)
    }

    // MARK: Moving

    @Test("the server stops after 256 KiB, and the session continues in the next response without another open frame")
    func moves() throws {
        let world = TransportWorld()
        let stream = world.stream()
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<100 { world.server.sendText("\(number) \(text)") }
        world.run()
        let limit = 256 << 10
        #expect(stream.body.utf8.count > limit && stream.body.utf8.count < limit + 70_000)
        #expect(stream.body.hasSuffix("\n") && stream.isOpen)
        stream.abort()
        var bodies = [stream.body]
        while bodies.count < 20 {
            let next = world.stream()
            bodies.append(next.body)
            if next.body.utf8.count <= limit { break }
            next.abort()
        }
        #expect(bodies.count > 3)
        #expect(bodies.dropFirst().allSatisfy { !$0.contains("o\n") })
        let lines = bodies.joined().split(separator: "\n").dropFirst(1)
        let messages = lines.flatMap { JSONValue(parsing: String($0.dropFirst()))?.array ?? [] }.dropFirst()
        let numbers = messages.compactMap { $0.string?.split(separator: " ").first.flatMap { Int($0) } }
        #expect(numbers.elementsEqual(0..<100))
        #expect(world.server.connections.count == 1)
    }

    @Test("the server ends the response if the client does not move within 5 s")
    func doesNotMove() {
        let world = TransportWorld()
        let stream = world.stream()
        // The text has 400 kB, but only 200,000 UTF-16 units, so a browser does not move yet.
        let text = String(repeating: "é", count: 200_000)
        world.server.sendText(text)
        world.server.sendText("after")
        world.run()
        #expect(stream.body.hasSuffix(frame("after")) && stream.body.utf8.count > 400_000)
        world.server.sendText(text)
        world.server.sendText("again")
        world.advance(by: .milliseconds(4_999))
        #expect(stream.body.hasSuffix(frame(text)) && stream.isOpen)
        world.advance(by: .milliseconds(1))
        #expect(stream.body.hasSuffix(frame(text)) && stream.hasEnded)
        // The session waits longer than usual, because the client may still read the response.
        world.advance(by: .milliseconds(9_999))
        let next = world.stream()
        #expect(next.body == frame("again") && next.isOpen)
    }

    /// Requests a second stream. The server sends the text `1` before the request arrives.
    private func moveWithFrameInTransit(_ world: TransportWorld) -> (
        old: TransportWorld.Response, new: TransportWorld.Response
    ) {
        world.network.latency = .milliseconds(10)
        let old = world.stream()
        world.advance(by: .milliseconds(100))
        #expect(old.next() == "o\n" + greeting())
        let new = world.stream()
        world.advance(by: .milliseconds(5))
        world.server.sendText("1")
        return (old, new)
    }

    @Test("a new stream takes over when the frames in transit on the old stream have arrived")
    func takesOver() {
        let world = TransportWorld()
        let (old, new) = moveWithFrameInTransit(world)
        world.advance(by: .milliseconds(5))
        world.server.sendText("2")
        world.advance(by: .milliseconds(100))
        #expect(old.next() == frame("1") && old.hasEnded)
        #expect(new.next() == frame("2") && new.isOpen)
        world.server.sendText("3")
        world.advance(by: .milliseconds(9))
        new.abort()
        world.advance(by: .milliseconds(100))
        #expect(new.next() == "")
        let last = world.stream()
        world.advance(by: .milliseconds(100))
        #expect(last.next() == frame("3"))
    }

    @Test("if the client closes the old stream after its new request, the new stream gets the frames in transit")
    func closedAfterMove() {
        let world = TransportWorld()
        let (old, new) = moveWithFrameInTransit(world)
        world.advance(by: .milliseconds(1))
        old.abort()
        world.advance(by: .milliseconds(5))
        world.server.sendText("2")
        // A third stream gets everything, even if the client has not read the second stream.
        new.abort()
        let last = world.stream()
        world.advance(by: .milliseconds(100))
        #expect(old.next() == "" && new.next() == "")
        #expect(last.next() == frame("1") + frame("2") && last.isOpen)
    }

    @Test("the server drops a replaced stream that the client neither reads nor closes")
    func unreadAfterMove() {
        let world = TransportWorld()
        let old = world.stream()
        old.exchange?.setReading(false)
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<20 { world.server.sendText("\(number) \(text)") }
        world.run()
        let new = world.stream()
        let idle = world.stream()
        #expect(new.hasEnded && idle.isOpen && idle.body == "")
        world.advance(by: .milliseconds(9_999))
        #expect(idle.body == "" && world.network.exchanges.count == 2)
        world.advance(by: .milliseconds(1))
        #expect((0..<20).allSatisfy { idle.body.contains("\($0) xx") } && idle.isOpen)
        #expect(world.network.exchanges.count == 1 && world.server.connections.count == 1)
    }

    @Test("the server waits for a client that reads a replaced stream slowly")
    func slowlyReadAfterMove() {
        let world = TransportWorld()
        world.network.latency = .seconds(15)
        let old = world.stream()
        world.advance(by: .seconds(35))
        let new = world.stream()
        world.advance(by: .seconds(6))
        world.server.sendText("1")
        world.advance(by: .seconds(8))
        world.server.sendText("2")
        // The request arrives after 15 s, the frames after 21 s and 29 s, and the end of the old stream after 30 s.
        world.advance(by: .seconds(20))
        #expect(old.body.hasSuffix(frame("1") + frame("2")) && old.hasEnded && new.isOpen)
    }

    @Test("the end of a session reaches the client after the frames in transit on a replaced stream")
    func endAfterMove() {
        let world = TransportWorld()
        let (old, new) = moveWithFrameInTransit(world)
        world.advance(by: .milliseconds(5))
        world.server.dropConnections()
        world.advance(by: .milliseconds(100))
        #expect(old.next() == frame("1") && new.hasFailed)
        #expect(world.server.connections.isEmpty && world.network.exchanges.isEmpty)
    }

    @Test("the server completes the response of an idle stream that a new stream replaces")
    func replacesIdleStream() {
        let world = TransportWorld()
        let old = world.stream()
        let new = world.stream()
        #expect(old.hasEnded && new.isOpen && new.body.isEmpty && new.status == 200)
        let poll = world.poll("/app/app-key/1/other")
        #expect(poll.hasEnded)
        _ = world.poll("/app/app-key/1/other")
        let held = world.poll("/app/app-key/1/other")
        let stream = world.stream("/app/app-key/1/other")
        #expect(held.body == "h\n" && held.hasEnded && stream.isOpen)
    }

    @Test("the server stops writing for a client that does not read, and loses no message")
    func backPressure() {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        stream.exchange?.setReading(false)
        let text = String(repeating: "x", count: 10_000)
        for number in 0..<20 { world.server.sendText("\(number) \(text)") }
        world.run()
        #expect(stream.next() == "")
        let written = world.server.engine.read { $0.connections.values.first?.http?.receiver?.bytesUnderWay ?? 0 }
        #expect(written > 0 && written <= 2 * 65_536)
        stream.exchange?.setReading(true)
        world.run()
        #expect(stream.body.contains("19 xx"))
    }

    // MARK: Endings

    @Test("a session ends after 5 s without a receiving request, and the next request opens a new session")
    func disconnectDelay() throws {
        let world = TransportWorld()
        let stream = world.stream()
        stream.abort()
        world.advance(by: .milliseconds(4_999))
        #expect(world.server.connections.count == 1)
        let again = world.stream()
        world.advance(by: .seconds(60))
        #expect(again.body == "h\nh\n")
        again.abort()
        world.advance(by: .seconds(5))
        #expect(world.server.connections.isEmpty)
        #expect(world.server.records.last?.event == .connectionEnded)
        #expect(world.send("[]").status == 404)
        #expect(world.stream().body == "o\n" + greeting(2))
    }

    @Test("a session stays open for 5 s between two polls")
    func disconnectDelayOfPolls() {
        let world = TransportWorld()
        _ = world.poll()
        world.advance(by: .milliseconds(4_999))
        #expect(world.poll().body == greeting())
        world.advance(by: .seconds(5))
        #expect(world.server.connections.isEmpty)
        #expect(world.poll().body == "o\n")
    }

    @Test("a close frame ends the session and its response, on a stream or in the next poll")
    func closes() {
        let world = TransportWorld()
        let stream = world.stream()
        let polling = "/app/app-key/1/polling"
        for _ in 1...2 { _ = world.poll(polling) }
        #expect(world.server.connections.count == 2)
        world.server.closeConnections(code: 4200, reason: #"a "reason""#)
        world.run()
        #expect(stream.body.hasSuffix(#"c[4200,"a \"reason\""]"# + "\n") && stream.hasEnded)
        #expect(world.poll(polling).body == #"c[4200,"a \"reason\""]"# + "\n")
        #expect(world.server.connections.isEmpty)
        #expect(world.server.records.count { $0.event == .connectionEnded } == 2)
        #expect(world.stream().status == 404 && world.poll(polling).status == 404)
        #expect(world.send("[]").status == 404)
    }

    @Test("a client with a wrong key gets an open frame and then a close frame")
    func wrongKey() {
        let world = TransportWorld { $0.dialect.refusal = .close }
        let stream = world.stream("/app/wrong/1/abcdefgh")
        let message = "App key wrong not in this cluster. Did you forget to specify the cluster?"
        #expect(stream.body == "o\nc[4001,\"\(message)\"]\n" && stream.hasEnded)
        #expect(world.poll("/app/wrong/1/polling").body == "o\n")
        #expect(world.poll("/app/wrong/1/polling").body == "c[4001,\"\(message)\"]\n")
        #expect(world.server.connections.isEmpty)
        world.server.failConnections(1, with: .closed(code: 4004, reason: "over quota"))
        #expect(world.stream().body == "o\nc[4004,\"over quota\"]\n")
    }

    @Test("the server checks the protocol version in the query of the receiving request")
    func protocolVersion() {
        let world = TransportWorld {
            $0.dialect.refusal = .close
            $0.checksProtocolVersion = true
        }
        #expect(world.stream(query: "client=js").body.hasPrefix("o\nc[4008,"))
        #expect(world.stream("/app/app-key/1/b").body == "o\n" + greeting(2))
    }

    @Test("the open frame names the host of the option")
    func hostname() {
        let world = TransportWorld { $0.httpTransports.hostname = "sticky-1.example.test" }
        #expect(world.stream().body == #"o{"hostname":"sticky-1.example.test"}"# + "\n" + greeting())
        #expect(world.poll("/app/app-key/1/b").body == #"o{"hostname":"sticky-1.example.test"}"# + "\n")
    }

    // MARK: URLs and methods

    @Test("the server allows any path prefix, or only the option's prefix")
    func prefixes() {
        let world = TransportWorld()
        #expect(world.stream("/any/prefix/app/app-key/1/a").status == 200)
        let strict = TransportWorld { $0.httpTransports.pathPrefix = "/pusher" }
        #expect(strict.stream("/pusher/app/app-key/1/a").status == 200)
        #expect(strict.stream("/app/app-key/1/b").status == 404)
        #expect(strict.stream("/x/pusher/app/app-key/1/b").status == 404)
        let disabled = TransportWorld { $0.httpTransports.isEnabled = false }
        #expect(disabled.stream().status == 404)
        #expect(disabled.poll().status == 404)
    }

    @Test("the server answers a browser's preflight and the requests after it")
    func crossOrigin() {
        let world = TransportWorld { $0.allowedOrigins = ["https://app.example.test"] }
        let origin = HTTPHeader(name: "Origin", value: "https://app.example.test")
        let question: HTTPHeaderFields = [
            origin, HTTPHeader(name: "Access-Control-Request-Method", value: "POST"),
            HTTPHeader(name: "Access-Control-Request-Headers", value: "content-type"),
        ]
        for path in ["xhr_streaming", "xhr", "xhr_send"] {
            let target = "\(TransportWorld.session)/\(path)?t=1&n=2"
            let answer = world.request(target, method: "OPTIONS", headers: question)
            #expect(answer.status == 204 && answer.hasEnded)
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example.test")
            #expect(answer.header("Access-Control-Allow-Headers") == "content-type")
            #expect(answer.header("Access-Control-Allow-Methods") == "GET, POST")
        }
        #expect(world.server.connections.isEmpty)
        for path in ["xhr_streaming", "xhr_send", "unknown"] {
            let answer = world.request("\(TransportWorld.session)/\(path)", headers: [origin])
            #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example.test")
        }
        let plain = world.request("\(TransportWorld.session)/xhr", method: "OPTIONS")
        #expect(plain.status == 204 && plain.header("Allow") == "OPTIONS, POST")
        for method in ["GET", "HEAD", "PUT", "DELETE"] {
            let answer = world.request("\(TransportWorld.session)/xhr", method: method)
            #expect(answer.status == 405 && answer.header("Allow") == "OPTIONS, POST")
        }
    }
}
