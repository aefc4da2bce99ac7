import TestSupport
import Testing

@Suite("Short runs of the soak program", .timeLimit(.minutes(5)))
struct SoakTests {
    @Test("140 losses of seven kinds leave no memory, descriptor or thread behind")
    func reconnects() async throws {
        // In such a short run, noise amounts to a kilobyte for each. A leaked socket with its pipeline takes more, and
        // shows among the descriptors too. The long run finds smaller leaks.
        try await expectSuccess(
            ["reconnects", "--rounds", "140", "--warm-up", "35", "--heap-limit", "4000"],
            ending: "flat"
        )
    }

    @Test("50 clients whose server returns spread their attempts, and all recover")
    func herd() async throws {
        try await expectSuccess(["herd", "--clients", "50", "--base", "200", "--outage", "300"], ending: "spread")
    }

    private func expectSuccess(_ arguments: [String], ending: String) async throws {
        let process = try ChildProcess("soak", arguments)
        var output: [String] = []
        for await line in process.lines { output.append(line) }
        #expect(await process.end() == 0, "\(output.joined(separator: "\n"))")
        #expect(output.last == ending)
    }
}
