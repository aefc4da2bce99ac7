import Foundation
import TestSupport
import TestTraits
import Testing

/// Runs the fuzzer in a separate process. If an input crashes the fuzzer, the other tests continue, and the fuzzer's
/// output names the input.
@Suite("Inputs of the fuzzer", .limited)
struct CorpusTests {
    private static let fuzzing = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Tools/Fuzzing")

    /// The targets that encrypt.
    private static let encrypting = ["client", "encryption"]

    private static let targets = [
        "authorization", "client", "decoding", "encryption", "envelope", "eventstream", "frames", "httpframes",
        "httpresponse", "json", "presence", "redirect", "signalr", "upgrade", "utf8",
    ]

    @Test(
        "every input of the corpus passes the checks of its target",
        arguments: targets.filter { !encrypting.contains($0) }
    )
    func corpus(target: String) async throws { try await check(target) }

    @Test(
        "every input of the corpus with encryption passes the checks of its target",
        .needsSodium,
        arguments: encrypting
    )
    func encryptingCorpus(target: String) async throws { try await check(target) }

    private func check(_ target: String) async throws {
        let file = Self.fuzzing.appending(path: "Corpus/\(target).base64")
        let count = try Data(contentsOf: file).split(separator: UInt8(ascii: "\n")).count
        let outcome = try await run([target, file.path()])
        #expect(outcome.status == 0, "\(outcome.lines.suffix(20).joined(separator: "\n"))")
        #expect(outcome.lines.last == "\(target): \(count) inputs")
        #expect(count > 0)
    }

    @Test("the corpus has one file for each target, and the fuzzer lists the targets")
    func files() async throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Self.fuzzing.appending(path: "Corpus").path()
        )
        #expect(files.sorted() == Self.targets.map { "\($0).base64" })
        let refusal = try await run(["nothing"])
        #expect(refusal.status == 2)
        for target in Self.targets { #expect(refusal.lines.last?.contains(target) == true) }
    }

    private struct Outcome {
        var status: Int32?
        /// The output of the fuzzer, including errors.
        var lines: [String] = []
    }

    private func run(_ arguments: [String]) async throws -> Outcome {
        let process = try ChildProcess("fuzzer", arguments, showsErrors: true)
        var outcome = Outcome()
        for await line in process.lines { outcome.lines.append(line) }
        outcome.status = await process.end()
        return outcome
    }
}
