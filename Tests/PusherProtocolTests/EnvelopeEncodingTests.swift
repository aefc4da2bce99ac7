import Foundation
import PusherProtocol
import TestTraits
import Testing

@Suite("Encoding an envelope", .limited)
struct EnvelopeEncodingTests {
    @Test(
        "The client's messages have exactly the expected bytes",
        arguments: [
            (Envelope.ping, #"{"event":"pusher:ping","data":{}}"#),
            (.pong, #"{"event":"pusher:pong","data":{}}"#),
            (.subscribe(channel: "a"), #"{"event":"pusher:subscribe","data":{"channel":"a"}}"#),
            (
                .subscribe(channel: "private-a", auth: "key:sig"),
                #"{"event":"pusher:subscribe","data":{"channel":"private-a","auth":"key:sig"}}"#
            ),
            (
                .subscribe(channel: "presence-a", auth: "key:sig", channelData: #"{"user_id": "1"}"#),
                #"{"event":"pusher:subscribe","data":{"channel":"presence-a","auth":"key:sig","channel_data":"{\"user_id\": \"1\"}"}}"#
            ),
            (.unsubscribe(channel: "a"), #"{"event":"pusher:unsubscribe","data":{"channel":"a"}}"#),
            (
                Envelope(event: "client-x", channel: "private-c", data: .json(#"{"a":1}"#)),
                #"{"event":"client-x","data":{"a":1},"channel":"private-c"}"#
            ),
        ]
    )
    func frames(envelope: Envelope, text: String) {
        #expect(envelope.jsonText == text)
    }

    /// A server verifies the signature over exactly these bytes.
    @Test(
        "channel_data arrives unchanged",
        arguments: [#"{"user_id":"ü\u00fc\/","x":1e0}"#, " {} ", "\u{0}\u{1F}"]
    )
    func channelData(signed: String) throws {
        let envelope = try Envelope(
            decoding: Envelope.subscribe(channel: "presence-a", auth: "k:s", channelData: signed).jsonText
        )
        #expect(envelope.data.value?["channel_data"]?.string == signed)
    }

    @Test("A golden frame is the same after encoding and decoding", arguments: GoldenFrame.all)
    func goldenFrames(frame: GoldenFrame) throws {
        var expected = frame.envelope
        expected.unknownKeysText = nil
        #expect(try Envelope(decoding: frame.envelope.jsonText) == expected)
    }

    static let strings = [
        "", "plain", "quote \" backslash \\ slash /", "\n\r\t\u{8}\u{C}", "é€🚀", "e\u{301}", "\u{2028}\u{2029}",
        "\u{7F}", "\u{FFFD}", "\u{10FFFF}", #"{"nested":"\"text\""}"#,
        String(String.UnicodeScalarView((0..<0x20).compactMap { Unicode.Scalar($0) })),
    ]

    @Test("Foundation reads every encoded string unchanged", arguments: strings)
    func roundTrip(string: String) throws {
        let envelope = Envelope(event: string, channel: string, data: .string(string), userID: string)
        let text = envelope.jsonText
        #expect(try Envelope(decoding: text) == envelope)

        let members = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(members == ["event": string, "channel": string, "data": string, "user_id": string])
        // The test compares bytes, because `==` is also true for canonically equivalent strings.
        #expect(members["data"].map { Array($0.utf8) } == Array(string.utf8))
    }

    @Test("Text keeps its Unicode normal form")
    func normalForm() throws {
        let decoded = try Envelope(decoding: Envelope(event: "e", data: .string("e\u{301}")).jsonText)
        #expect(decoded.data.text.map { Array($0.utf8) } == [0x65, 0xCC, 0x81])
    }
}
