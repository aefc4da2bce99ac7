import TestSupport
import TestTraits
import Testing

@Suite("Short runs of the soak program", .limited)
struct SoakTests {
    @Test("140 losses of seven kinds leave no memory, descriptor or thread behind", .needsSodium)
    func reconnects() async throws {
        // In this short run, noise adds up to a kilobyte for each loss. A leaked socket needs more memory, and a
        // descriptor. The long run finds smaller leaks.
        try await expectSuccess(
            ["reconnects", "--rounds", "140", "--warm-up", "35", "--heap-limit", "4000"],
            ending: "flat"
        )
    }

    @Test("50 clients spread their attempts after an outage, and all reconnect")
    func herd() async throws {
        try await expectSuccess(
            ["herd", "--clients", "50", "--base", "200", "--outage", "300"],
            ending: "the reconnects are spread"
        )
    }

    @Test("every library survives a number for which Foundation's JSON decoder ends the process")
    func numbers() async throws { try await expectSuccess(["numbers"], ending: "all survived") }

    private func expectSuccess(_ arguments: [String], ending: String) async throws {
        let process = try ChildProcess("soak", arguments)
        var output: [String] = []
        for await line in process.lines { output.append(line) }
        #expect(await process.end() == 0, "\(output.joined(separator: "\n"))")
        #expect(output.last == ending)
    }
}
