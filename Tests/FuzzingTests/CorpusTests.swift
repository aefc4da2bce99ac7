import Foundation
import Testing

/// The fuzzer is a process of its own, so that an input that ends it ends no other test, and is named.
@Suite("Inputs of the fuzzer", .timeLimit(.minutes(5)))
struct CorpusTests {
    private static let fuzzing = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Fuzzing")

    private static let targets = [
        "authorization", "client", "encryption", "envelope", "frames", "json", "presence", "redirect", "upgrade",
        "utf8",
    ]

    @Test("no input that was ever found to be special does harm", arguments: targets)
    func corpus(target: String) async throws {
        let folder = Self.fuzzing.appending(path: "Corpus/\(target)")
        let count = try FileManager.default.contentsOfDirectory(atPath: folder.path()).count
        let outcome = try await run([target, folder.path()])
        #expect(outcome.status == 0, "\(outcome.errors.suffix(2_000))")
        #expect(outcome.output == "\(target): \(count) inputs\n")
        #expect(count > 0)
    }

    @Test("there are inputs for each target, and no others")
    func folders() async throws {
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Self.fuzzing.appending(path: "Corpus").path()
        )
        #expect(folders.sorted() == Self.targets)
        let refusal = try await run(["nothing"])
        #expect(refusal.status == 2)
        for target in Self.targets { #expect(refusal.errors.contains(target)) }
    }

    private struct Outcome {
        var status: Int32
        var output: String
        var errors: String
    }

    private func run(_ arguments: [String]) async throws -> Outcome {
        let process = Process()
        process.executableURL = Self.products.appending(path: "fuzzer")
        process.arguments = arguments
        let files = try (0..<2).map { _ in
            let file = FileManager.default.temporaryDirectory.appending(path: "fuzzer-\(UUID().uuidString)")
            try Data().write(to: file)
            return file
        }
        defer { for file in files { try? FileManager.default.removeItem(at: file) } }
        process.standardOutput = try FileHandle(forWritingTo: files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in continuation.resume() }
            do {
                try process.run()
            } catch {
                continuation.resume(throwing: error)
            }
        }
        return Outcome(
            status: process.terminationStatus,
            output: String(decoding: try Data(contentsOf: files[0]), as: UTF8.self),
            errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self)
        )
    }

    /// Where what was built is.
    private static var products: URL {
        #if os(macOS)
            let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
            return (bundle ?? .main).bundleURL.deletingLastPathComponent()
        #else
            return Bundle.main.bundleURL
        #endif
    }
}
