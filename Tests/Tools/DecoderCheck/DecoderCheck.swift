import CRealtimeJSON
import EnvelopeCorpus
import Foundation
import JSONCorpus

/// Compares our decoders of frames and of JSON with Foundation's decoders on any number of inputs. With
/// AddressSanitizer, the program also detects reads beyond the end of an input.
///
/// `decoder-check [COUNT [SEED]]`
@main
enum DecoderCheck {
    static func main() {
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        let count = Int(numbers.first ?? 200_000)
        let seed = numbers.count > 1 ? numbers[1] : 1
        compareFrames(count, seed: seed)
        compareJSON(count, seed: seed)
    }

    private static func compareFrames(_ count: Int, seed: UInt64) {
        var corpus = EnvelopeCorpus(seed: seed)
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

    private static func compareJSON(_ count: Int, seed: UInt64) {
        var corpus = JSONCorpus(seed: seed)
        let comparison = corpus.compare(count: count / 3)
        for difference in comparison.differences { print(difference) }
        guard comparison.differences.isEmpty else { exit(1) }
        print(
            """
            The JSON decoder, with \(String(cString: realtime_json_instructions())), agrees with Foundation's on all \
            \(comparison.caseCount) documents.
            """
        )
    }
}
