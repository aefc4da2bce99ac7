import NIOConcurrencyHelpers
import NIOCore
import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Hostile clients over HTTP", .limited)
struct HTTPTransportLimitTests {
    @Test(
        "the server answers invalid session names with 404",
        arguments: [
            "/app/app-key/1/", "/app/app-key//abc", "/app/app-key/1/a.b", "/app/app-key/../abc", "/app/app-key/1/a%2Fb",
            "/app/app-key/1/é", "/app/app-key/1/a b", "/app/app-key/1", "/app-key/1/abc", "/app/app-key/1/2/abc",
            "/app/app-key/1/" + String(repeating: "a", count: 65),
            "/app/app-key/" + String(repeating: "1", count: 65) + "/a",
            "", "//",
        ]
    )
    func names(session: String) {
        let world = TransportWorld()
        for path in ["xhr_streaming", "xhr", "xhr_send"] {
            #expect(world.request("\(session)/\(path)").status == 404)
        }
        #expect(world.server.connections.isEmpty)
        #expect(world.stream("/app/app-key/000-_Z/" + String(repeating: "a", count: 64)).status == 200)
    }

    @Test(
        "a body that is not an array of strings gets 500 and has no effect",
        arguments: [
            "", "{}", "null", "1", #""x""#, "[1]", #"["a",null]"#, #"["a",["b"]]"#, #"["a""#, #"["a"] x"#, "[,]",
            String(repeating: "[", count: 100_000), "[\"\u{0}\"]",
        ]
    )
    func bodies(body: String) {
        let world = TransportWorld()
        let stream = world.stream()
        _ = stream.next()
        let answer = world.send(body)
        #expect(answer.status == 500 && answer.hasEnded)
        #expect(world.server.receivedMessages().isEmpty && stream.next() == "")
        #expect(world.send("[]").status == 204)
        #expect(stream.next() == "a[]\n")
    }

    @Test("a body that is not UTF-8 gets 500")
    func notUTF8() {
        let options = PusherTestServer.HTTPTransports()
        let target = "\(TransportWorld.session)/xhr_send"
        let body = Array("[\"".utf8) + [0xFF] + Array("\"]".utf8)
        let call = TransportCall(Request(method: "POST", target: target, body: body), options: options)
        #expect(call != nil && call?.messages == nil)
        let good = TransportCall(
            Request(method: "POST", target: target, body: Array(#" ["é\n"] "#.utf8)),
            options: options
        )
        #expect(good?.messages == ["é\n"])
    }

    @Test("a body that is too long gets 413, and a message that is too long gets close code 1009")
    func sizes() {
        let world = TransportWorld {
            $0.maximumRequestSize = 1_000
            $0.maximumMessageSize = 500
        }
        let stream = world.stream()
        _ = stream.next()
        #expect(world.send(messages: [String(repeating: "x", count: 1_000)]).status == 413)
        #expect(
            world.request("\(TransportWorld.session)/xhr", body: String(repeating: "x", count: 1_001)).status == 413
        )
        #expect(stream.isOpen && stream.next() == "")
        #expect(world.send(messages: [String(repeating: "x", count: 501), Envelope.ping.jsonText]).status == 204)
        #expect(stream.next() == "c[1009,\"the message is too long\"]\n" && stream.hasEnded)
        #expect(world.server.receivedMessages().isEmpty)
    }

    @Test("a send to an unknown session gets 404 and does not open a session")
    func noSession() {
        let world = TransportWorld()
        #expect(world.send(messages: [Envelope.ping.jsonText]).status == 404)
        #expect(world.server.connections.isEmpty)
    }

    @Test("requests beyond the limit of sessions get 503 until another session ends")
    func manySessions() {
        let world = TransportWorld { $0.httpTransports.maximumSessionCount = 100 }
        for number in 0..<150 {
            #expect(world.poll("/app/app-key/1/\(number)").status == (number < 100 ? 200 : 503))
        }
        #expect(world.server.connections.count == 100)
        // Existing sessions continue.
        #expect(world.poll("/app/app-key/1/7").status == 200)
        world.advance(by: .seconds(5))
        #expect(world.server.connections.isEmpty)
        #expect(world.poll("/app/app-key/1/101").status == 200)
    }

    @Test("the server remembers a limited number of ended sessions")
    func lostSessions() {
        var lost = LostSessions()
        for number in 0..<5_000 { lost.insert("\(number)") }
        lost.insert("4999")
        #expect(!lost.contains("3975") && lost.contains("3976") && lost.contains("4999"))
    }

    @Test("the server drops a session in which too many bytes wait")
    func queueLimit() {
        let world = TransportWorld { $0.httpTransports.maximumQueueSize = 10_000 }
        _ = world.poll()
        for _ in 1...9 { world.server.sendText(String(repeating: "x", count: 1_000)) }
        world.run()
        #expect(world.server.connections.count == 1)
        for _ in 1...2 { world.server.sendText(String(repeating: "x", count: 1_000)) }
        world.run()
        #expect(world.server.connections.isEmpty)
        #expect(world.server.records.suffix(2).map(\.event) == [.sessionLost, .connectionEnded])
        #expect(world.poll().status == 404)
        let stream = world.stream("/app/app-key/1/b")
        stream.exchange?.setReading(false)
        for _ in 1...200 { world.server.sendText(String(repeating: "x", count: 1_000)) }
        world.run()
        #expect(world.server.connections.isEmpty)
        stream.exchange?.setReading(true)
        world.run()
        #expect(stream.hasFailed)
    }

    @Test("the server drops the session of a client that sends heartbeats but never reads")
    func heartbeatsWithoutEnd() {
        let world = TransportWorld { $0.httpTransports.maximumQueueSize = 1_000 }
        _ = world.poll()
        var sends = 0
        while world.send("[]").status == 204, sends < 1_000 { sends += 1 }
        #expect(sends > 100 && sends < 300)
        #expect(world.server.connections.isEmpty)
    }

    @Test("bytes that a proxy holds back count toward the limit of waiting bytes")
    func heldBytes() {
        let world = TransportWorld { $0.httpTransports.maximumQueueSize = 10_000 }
        world.server.bufferStreams(until: .max)
        let stream = world.stream()
        for _ in 1...11 {
            world.server.sendText(String(repeating: "x", count: 1_000))
            world.run()
        }
        #expect(world.server.connections.isEmpty && stream.hasFailed)
    }

    @Test("a request after the one that closed the TCP connection does not open a session")
    func requestAfterTheEnd() throws {
        let client = try EmbeddedConnection()
        let requests = ["POST /app/app-key/1/a/xhr_streaming", "GET /", "POST /app/app-key/1/b/xhr_streaming"]
        // The server passes on the last byte of a packet separately, so the last request needs a byte after it.
        try client.send(
            requests.map { "\($0) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n" }.joined() + "P"
        )
        #expect(!client.isOpen)
        #expect(client.server.records.count { $0.event == .connectionAccepted } == 1)
        client.advance(by: .seconds(30))
        #expect(client.server.connections.isEmpty)
    }

    @Test("receiving requests that replace each other do not leave state behind")
    func manyRequests() {
        let world = TransportWorld()
        for _ in 1...1_000 { _ = world.stream() }
        #expect(world.network.exchanges.count == 1)
        let (receivers, timers) = world.server.engine.read { ($0.receivers.count, $0.timers.count) }
        #expect(receivers == 1 && timers == 1)
        #expect(world.server.engine.state.withLockedValue { $0.responders.count } == 1)
    }
}
