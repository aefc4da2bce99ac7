import SignalRCore
import TestTraits
import Testing

@Suite(.limited) struct HandshakeTests {
    @Test func requestsAreJSONForBothProtocols() {
        func text(_ hubProtocol: HubProtocol, _ version: Int) -> String {
            String(decoding: Handshake.request(hubProtocol, version: version), as: UTF8.self)
        }
        #expect(text(.json, 1) == "{\"protocol\":\"json\",\"version\":1}\u{1E}")
        #expect(text(.messagePack, 2) == "{\"protocol\":\"messagepack\",\"version\":2}\u{1E}")
    }

    @Test(
        arguments: [
            ("{}", .accepted), (" { } ", .accepted), (#"{"error":null}"#, .accepted),
            (#"{"minorVersion":1}"#, .accepted),
            (#"{"error":"x"}"#, .refused("x")), (#"{"error":"a\"b"}"#, .refused("a\"b")), (#"{"type":6}"#, .unexpected),
            (#"{"error":"x","type":7}"#, .unexpected), (#"{"error":7}"#, .unexpected), ("", .unexpected),
            ("null", .unexpected), ("[]", .unexpected), ("{}}", .unexpected), ("\u{2}\u{91}\u{6}", .unexpected),
        ] as [(String, Handshake.Answer)]
    ) func readsAnswers(_ text: String, _ answer: Handshake.Answer) {
        #expect(Handshake.answer(json(text)) == answer)
    }

    @Test(arguments: [HubProtocol.json, .messagePack])
    func whatFollowsTheAnswerBelongsToTheProtocol(_ hubProtocol: HubProtocol) throws {
        let message = HubMessage.completion(id: "1", .void)
        let bytes = Handshake.response(error: nil) + hubProtocol.encode(message)
        for cut in 0...bytes.count {
            var reader = HubFrameReader(limit: 1000)
            var isAnswered = false
            var messages: [HubMessage] = []
            for part in [bytes.prefix(cut), bytes.dropFirst(cut)] {
                reader.append(Array(part))
                if !isAnswered, let frame = try reader.next() {
                    #expect(Handshake.answer(frame) == .accepted)
                    isAnswered = true
                    reader.begin(hubProtocol)
                }
                if isAnswered { messages += try reader.messages(hubProtocol, []) }
            }
            #expect(messages == [message])
        }
    }

    @Test func garbageWithoutASeparatorIsBounded() {
        var reader = HubFrameReader(limit: 1 << 16)
        reader.append([UInt8](repeating: 0xFF, count: 1 << 20))
        #expect(throws: HubProtocolViolation.self) { try reader.next() }
    }

    @Test func serversReadRequestsAndWriteAnswers() {
        let request = Handshake.request(Handshake.request(.messagePack, version: 2).dropLast())
        #expect(request?.protocolName == "messagepack" && request?.version == 2)
        #expect(Handshake.request(json(#"{"protocol":"json"}"#)) == nil)
        #expect(Handshake.answer(Handshake.response(error: "no \"x\"").dropLast()) == .refused("no \"x\""))
    }
}
