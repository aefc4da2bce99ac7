import Foundation
import PusherProtocol
import Testing

/// Foundation is the second opinion. On purpose we differ in three things, which the corpus leaves out: halves of
/// surrogate pairs and bytes that are not UTF-8, which Foundation refuses and we replace, and equal keys, of which it
/// keeps the first or the last as it likes. Encodings other than UTF-8 and byte order marks, which it accepts, are no
/// text of WebSocket's.
@Suite("Agreement with Foundation's JSON")
struct FoundationAgreementTests {
    @Test("The same frames are valid, with the same values", arguments: UInt64(1)...5)
    func validFrames(seed: UInt64) throws {
        var corpus = EnvelopeCorpus(seed: seed)
        for _ in 0..<500 {
            let text = corpus.validFrame()
            let ours = try Envelope(decoding: text)
            let theirs = try #require(
                try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary,
                "\(text)"
            )
            expectAgreement(ours, theirs, text)
        }
    }

    @Test("The same damaged frames are refused", arguments: UInt64(1)...5)
    func damagedFrames(seed: UInt64) {
        var corpus = EnvelopeCorpus(seed: seed)
        for _ in 0..<500 {
            let bytes = corpus.damagedFrame()
            let text = String(decoding: bytes, as: UTF8.self)
            let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            do {
                let ours = try Envelope(decoding: bytes.span)
                guard let theirs = theirs as? NSDictionary else {
                    Issue.record("only Foundation refuses \(text)")
                    continue
                }
                expectAgreement(ours, theirs, text)
            } catch EnvelopeError.notAnObject {
                #expect(theirs != nil && !(theirs is NSDictionary), "\(text)")
            } catch EnvelopeError.noEvent {
                #expect((theirs as? NSDictionary).map { !($0["event"] is String) } == true, "\(text)")
            } catch {
                #expect(theirs == nil, "only Foundation accepts \(text)")
            }
        }
    }

    private func expectAgreement(_ ours: Envelope, _ theirs: NSDictionary, _ text: String) {
        #expect(ours.event == theirs["event"] as? String, "\(text)")
        #expect(ours.channel == theirs["channel"] as? String, "\(text)")
        switch ours.data {
        case .none: #expect(theirs["data"] == nil || theirs["data"] is NSNull, "\(text)")
        case .string(let string): #expect(string == theirs["data"] as? String, "\(text)")
        case .json(let json):
            let value = try? JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
            #expect((value as? NSObject) == (theirs["data"] as? NSObject), "\(text)")
        }
    }

    @Test(
        "Where we differ: the frame is not lost",
        arguments: [
            (Array(#"{"event":"\ud83d"}"#.utf8), "\u{FFFD}"),
            ([0x7B, 0x22, 0x65, 0x76, 0x65, 0x6E, 0x74, 0x22, 0x3A, 0x22, 0xFF, 0x22, 0x7D], "\u{FFFD}"),
            (Array(#"{"event":"a","event":"b"}"#.utf8), "b"),
        ] as [([UInt8], String)]
    )
    func differences(bytes: [UInt8], event: String) throws {
        #expect(try Envelope(decoding: bytes.span).event == event)
    }
}
