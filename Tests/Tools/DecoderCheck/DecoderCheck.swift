import EnvelopeCorpus
import Foundation

/// Compares our frame decoder with Foundation's decoder on any number of frames. With AddressSanitizer, the program
/// also detects reads beyond the end of a frame.
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
        print("The decoder agrees with Foundation's on all \(count) frames, \(messageCount) of which are messages.")
    }
}
