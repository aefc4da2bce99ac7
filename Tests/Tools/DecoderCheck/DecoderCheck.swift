import EnvelopeCorpus
import Foundation

/// Compares the decoder of frames with Foundation's on any number of frames. Built with AddressSanitizer, it also shows
/// that the decoder reads nothing beyond them.
///
/// `decoder-check [COUNT [SEED]]`
@main
enum DecoderCheck {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        let count = Int(numbers.first ?? 200_000)
        var corpus = EnvelopeCorpus(seed: numbers.count > 1 ? numbers[1] : 1)
        let kinds = EnvelopeCorpus.Kind.allCases
        var messageCount = 0
        for index in 0..<count {
            let kind = kinds[index % kinds.count]
            let frame = corpus.frame(kind)
            guard let disagreement = EnvelopeAgreement.disagreement(about: frame) else {
                if EnvelopeAgreement.isMessage(frame) { messageCount += 1 }
                continue
            }
            print("frame \(index), \(kind): \(disagreement)\n\(frame.description)")
            exit(1)
        }
        print("\(count) frames, \(messageCount) of them messages: the decoder agrees with Foundation's about all")
    }
}
