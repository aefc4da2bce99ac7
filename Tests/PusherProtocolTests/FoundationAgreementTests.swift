import EnvelopeCorpus
import PusherProtocol
import TestTraits
import Testing

/// Compares the decoder with Foundation's decoder. `make check-decoder` compares more frames, with AddressSanitizer.
@Suite("Agreement with Foundation's JSON", .limited)
struct FoundationAgreementTests {
    @Test(
        "Our decoder and Foundation accept the same frames, with the same values",
        arguments: EnvelopeCorpus.Kind.allCases
    )
    func agreement(kind: EnvelopeCorpus.Kind) {
        var corpus = EnvelopeCorpus(seed: 1)
        var messageCount = 0
        defer { #expect(messageCount > 10) }
        for _ in 0..<1_000 {
            let frame = corpus.frame(kind)
            if EnvelopeAgreement.isMessage(frame) { messageCount += 1 }
            if let disagreement = EnvelopeAgreement.disagreement(about: frame) {
                Issue.record("\(disagreement): \(frame.description)")
            }
        }
    }

    @Test(
        "The client accepts some frames that Foundation rejects",
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
