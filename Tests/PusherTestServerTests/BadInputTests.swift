import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("The server continues after every message of a client", .limited)
struct BadInputTests {
    static let values = [
        "null", "true", "1", "-1e999", "\"\"", "\"x\"", "[]", "[{}]", "{}", #"{"channel":1}"#, #"{"channel":null}"#,
        #"{"channel":{}}"#, #""{\"channel\":[]}""#, #"{"channel":"\ud800"}"#,
        String(repeating: "[", count: 100_000), String(repeating: "[", count: 400) + String(repeating: "]", count: 400),
    ]

    static var messages: [String] {
        let events = [EventName.subscribe, EventName.unsubscribe, EventName.ping, EventName.pong, "pusher:signin", "x"]
        var messages = values
        for value in values {
            messages.append(#"{"event":\#(value)}"#)
            messages.append(#"{"event":"pusher:subscribe","data":{"channel":"a"},"channel":\#(value)}"#)
            for event in events { messages.append(#"{"event":"\#(event)","data":\#(value)}"#) }
        }
        messages += ["", " ", "\u{0}", "{", "}", "garbage", #"{"event":"pusher:subscribe"}"#, #"{"event":"client-x"}"#]
        let name = String(repeating: "a", count: 1_000_000)
        messages.append(Envelope.subscribe(channel: name).jsonText)
        messages.append(Envelope.unsubscribe(channel: name).jsonText)
        messages.append(Envelope(event: name).jsonText)
        return messages
    }

    @Test(
        "the connection stays usable after malformed messages",
        arguments: [Dialect.pusher, .soketi, .reverb, .slanger]
    )
    func shapes(dialect: Dialect) throws {
        var server = BrainTranscript { options in
            options.dialect = dialect
            // Refuse sign-ins with an error. A close frame would close the connection, which the test still needs.
            options.dialect.users.signInRefusal = .error
        }
        _ = server.connect(1)
        for message in Self.messages {
            for case .send(_, .text(let text)) in server.text(1, message) {
                #expect(throws: Never.self) { try Envelope(decoding: text) }
                #expect(text.utf8.count < 2_000)
            }
        }
        _ = server.unsubscribe(1, "a")
        #expect(server.subscribe(1, "a").events == [EventName.subscriptionSucceededInternal])
    }

    @Test("the server answers an invalid message with an error")
    func errors() {
        var server = BrainTranscript()
        _ = server.connect(1)
        #expect(server.text(1, "garbage").events == [EventName.error])
        #expect(server.text(1, "[]") == [.error(1, "Invalid message format: not a JSON object")])
        #expect(server.text(1, #"{"event":"x"}"#) == [.error(1, "Unknown event: x")])
        #expect(server.receive(1, .binary([0])).events == [EventName.error])
        let text = "Client event rejected - only supported on private and presence channels"
        #expect(server.text(1, #"{"event":"client-a","channel":"a"}"#) == [.error(1, text, code: "4301")])
    }

    @Test("the server continues after random bytes as messages")
    func random() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array(#"{}[]",:\u0eventdachl pusr:bi1-."#.utf8)
        var server = BrainTranscript()
        _ = server.connect(1)
        for _ in 0..<5_000 {
            let length = Int.random(in: 0..<60, using: &generator)
            let bytes = (0..<length).map { _ in alphabet[Int.random(in: 0..<alphabet.count, using: &generator)] }
            _ = server.text(1, String(decoding: bytes, as: UTF8.self))
        }
        #expect(server.brain.openConnections.count == 1)
    }
}
