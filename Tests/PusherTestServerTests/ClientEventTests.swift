import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Client events", .limited)
struct ClientEventTests {
    private func error(_ reason: String) -> ServerAction {
        .error(1, "Client event rejected - \(reason)", code: "4301")
    }

    @Test("client events go to the other subscribers, never to the sender")
    func relaying() {
        var server = BrainTranscript.connected(4) { $0.dialect.clientEvents.data = .unchanged }
        for number in 1...3 { _ = server.authorize(number, "private-x") }
        for data in [#"{"a": 1.50,"é":[null]}"#, #""text \\ \"quoted\"""#, "1", "[]", "true"] {
            let text = #"{"event":"client-e","data":\#(data),"channel":"private-x"}"#
            #expect(server.clientEvent(1, "client-e", data, "private-x") == [.send(2, text), .send(3, text)])
        }
        #expect(
            server.text(2, #"{"channel":"private-x","event":"client-e"}"#)
                == [1, 3].map { .send($0, #"{"event":"client-e","channel":"private-x"}"#) }
        )
    }

    @Test(
        "client events on presence channels have the sender's user id",
        arguments: ["presence-x", "presence-cache-x"]
    )
    func userID(channel: String) {
        var server = BrainTranscript.connected(2)
        for number in 1...2 { _ = server.join(number, channel, "\(number)") }
        let text = #"{"event":"client-e","data":"{}","channel":"\#(channel)","user_id":"1"}"#
        #expect(server.clientEvent(1, "client-e", "{}", channel) == [.send(2, text)])
    }

    @Test(
        "the server allows client events only on private and presence channels",
        arguments: ["x", "cache-x", "private-encrypted-x", "private-encrypted-cache-x", "#server-to-user-1", ""]
    )
    func otherChannels(channel: String) {
        var server = BrainTranscript.connected(2)
        for number in 1...2 { _ = server.authorize(number, channel) }
        let expected = error("only supported on private and presence channels")
        #expect(server.clientEvent(1, "client-e", "{}", channel) == [expected])
    }

    @Test("the server rejects client events that are too large, disabled, or without a subscription")
    func rejections() {
        var server = BrainTranscript.connected(2)
        #expect(server.clientEvent(1, "client-e", "{}", "private-x").events == [EventName.error])
        for number in 1...2 { _ = server.authorize(number, "private-x") }
        let largest = #""\#(String(repeating: "d", count: 10_240))""#
        #expect(server.clientEvent(1, "client-e", largest, "private-x").texts(to: 2).count == 1)
        let tooLarge = #""\#(String(repeating: "d", count: 10_241))""#
        let expected = error("the data exceeds the allowed maximum (10240 bytes)")
        #expect(server.clientEvent(1, "client-e", tooLarge, "private-x") == [expected])
        let name = "client-" + String(repeating: "n", count: 194)
        #expect(server.clientEvent(1, name, "{}", "private-x").events == [EventName.error])
        #expect(server.text(1, #"{"event":"client-e","data":{}}"#).events == [EventName.error])
        var other = BrainTranscript.connected(2) { $0.acceptsClientEvents = false }
        for number in 1...2 { _ = other.authorize(number, "private-x") }
        #expect(
            other.clientEvent(1, "client-e", "{}", "private-x")
                == [error("client events are not enabled for this app")]
        )
    }

    @Test("each connection may send ten client events within one second")
    func rate() {
        var server = BrainTranscript.connected(2)
        for number in 1...2 { _ = server.authorize(number, "private-x") }
        func isRelayed(_ number: Int) -> Bool {
            server.clientEvent(number, "client-e", "{}", "private-x").events == ["client-e"]
        }
        server.brain.now = .milliseconds(500)
        #expect((1...6).allSatisfy { _ in isRelayed(1) })
        server.brain.now = .milliseconds(1_400)
        #expect((1...4).allSatisfy { _ in isRelayed(1) })
        #expect(server.clientEvent(1, "client-e", "{}", "private-x") == [error("you are sending too many messages")])
        #expect(isRelayed(2))
        server.brain.now = .milliseconds(1_500)
        #expect((1...6).allSatisfy { _ in isRelayed(1) })
        #expect(!isRelayed(1))
        #expect(server.brain.openConnections.count == 2)
    }

    @Test("nil as clientEventsPerSecond removes the limit")
    func unlimited() {
        var server = BrainTranscript.connected(2) { $0.clientEventsPerSecond = nil }
        for number in 1...2 { _ = server.authorize(number, "private-x") }
        for _ in 1...100 { #expect(server.clientEvent(1, "client-e", "{}", "private-x").events == ["client-e"]) }
    }

    @Test("Reverb rejects a client event whose data is a string, with the error for invalid messages")
    func strings() {
        var server = BrainTranscript.connected(2) { $0.dialect = .reverb }
        for number in 1...2 { _ = server.authorize(number, "private-x") }
        let text = Dialect.reverb.error(code: 4200, message: "Invalid message format")
        #expect(server.clientEvent(1, "client-e", #""text""#, "private-x") == [.send(1, text)])
        #expect(server.clientEvent(1, "client-e", "{}", "private-x").events == ["client-e"])
    }

    @Test(
        "each dialect relays the data of client events in its own form",
        arguments: [
            (Dialect.pusher, #""data":"{\"a\":\"b\"}","channel":"presence-x","user_id":"1"}"#),
            (.soketi, #""data":{"a":"b"},"channel":"presence-x","user_id":"1"}"#),
            (.reverb, #""data":{"a":"b"},"channel":"presence-x","user_id":"1"}"#),
            (.pylon, #""data":{"a":"b"},"channel":"presence-x","user_id":"1"}"#),
            (.ipe, #""data":{"a":"b"},"channel":"presence-x"}"# + "\n"),
            (.poxa, #""data":{"a":"b"},"channel":"presence-x"}"#),
            (.slanger, #""data":{"a":"b"},"channel":"presence-x"}"#),
            (.pusherFake, #""data":"{\"a\":\"b\"}","channel":"presence-x"}"#),
        ]
    )
    func dialects(dialect: Dialect, rest: String) {
        var server = BrainTranscript.connected(2) { $0.dialect = dialect }
        for number in 1...2 { _ = server.join(number, "presence-x", "\"\(number)\"") }
        #expect(
            server.clientEvent(1, "client-e", #"{"a":"b"}"#, "presence-x") == [
                .send(2, #"{"event":"client-e",\#(rest)"#)
            ]
        )
    }

    @Test("pylon's error names the channel")
    func pylon() {
        var server = BrainTranscript.connected { $0.dialect = .pylon }
        let data = #"{"code":4301,"message":"Client event rejected - only supported on private and presence channels"}"#
        #expect(
            server.clientEvent(1, "client-e", "{}", "x") == [
                .send(1, message(EventName.error, data, "x", isString: false))
            ]
        )
    }
}
