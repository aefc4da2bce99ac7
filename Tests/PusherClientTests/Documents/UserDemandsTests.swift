import Foundation
import TestTraits
import Testing

@Suite("The table of users' demands", .limited)
struct UserDemandsTests {
    @Test("the rows of the table are in order, name existing tests, and match the counts")
    func page() throws {
        let file = TestSources.package.appendingPathComponent("Docs/ComparedWithOtherClients.md")
        let page = UserDemandsPage(try String(contentsOf: file, encoding: .utf8))
        let tests = try TestSources.names(under: TestSources.package.appendingPathComponent("Tests"))
        for problem in page.problems(knowing: tests) { Issue.record("\(problem)") }
    }

    @Test("every test that a page in Docs mentions exists")
    func everyPage() throws {
        let tests = try TestSources.names(under: TestSources.package.appendingPathComponent("Tests"))
        let folder = TestSources.package.appendingPathComponent("Docs")
        let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "md" }
        var count = 0
        for page in pages {
            for span in try String(contentsOf: page, encoding: .utf8).matches(of: /`(\w+Tests\.\w+)`/).map(\.1) {
                count += 1
                #expect(tests.contains(String(span)), "\(page.lastPathComponent) names \(span)")
            }
        }
        #expect(count > 100)
    }

    // MARK: The check itself

    private static let tests: Set = ["AlphaTests.one", "AlphaTests.two"]
    private static let counts = "Of 28 demands,\n26 are met, 1 are met in part, and 1 are not met."

    /// The rows of a valid page. The second demand is partly met, and the third is not met.
    private var rows: [String] {
        (1...28).map { number in
            switch number {
            case 2: "| 2 | demand | **partly**: answer | `AlphaTests.one`, `AlphaTests.two` |"
            case 3: "| 3 | demand | **not met**: reason | none: there is nothing to test |"
            default: "| \(number) | demand | answer | `AlphaTests.one` |"
            }
        }
    }

    private func problems(_ rows: [String], counts: String = Self.counts) -> [String] {
        let text = "# Page\n\n\(counts)\n\n| # | Demand | Answer | Tests |\n|---|---|---|---|\n"
        return UserDemandsPage(text + rows.joined(separator: "\n")).problems(knowing: Self.tests)
    }

    @Test("the check finds no problem in a valid page") func right() { #expect(problems(rows) == []) }

    @Test(
        "the check finds an invalid row",
        arguments: [
            ("| 1 | demand | answer | `AlphaTests.three` |", "there is no test AlphaTests.three"),
            ("| 1 | demand | answer | `AlphaTests.one`, `AlphaTests.three` |", "there is no test AlphaTests.three"),
            ("| 1 | demand | answer | AlphaTests.one |", "is not a test's name"),
            ("| 1 | demand | answer | `AlphaTests.one`, |", "is not a test's name"),
            ("| 1 | demand | answer | none |", "is not a test's name"), ("| 1 | demand | answer | |", "Tests is empty"),
            ("| 1 | | answer | `AlphaTests.one` |", "Demand is empty"), ("| 1 | demand | answer |", "3 cells"),
            ("| 1 | demand | **nearly**: answer | `AlphaTests.one` |", "begins with a mark"),
        ]
    )
    func wrong(row: String, problem: String) {
        let problems = problems([row] + rows.dropFirst())
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("line 8: ") == true)
        #expect(problems.first?.contains(problem) == true)
    }

    @Test("the check finds missing rows and rows in another order")
    func order() {
        let fewer = problems(Array(rows.dropLast()), counts: "Of 28, 25 are met, 1 are met in part, and 1 are not met.")
        #expect(fewer.count == 1 && fewer.first?.contains("not numbered") == true)
        let swapped = problems([rows[1], rows[0]] + rows.dropFirst(2))
        #expect(swapped.count == 1 && swapped.first?.contains("not numbered") == true)
    }

    @Test(
        "the check finds counts that differ from the marks in the rows",
        arguments: [
            "Of 28, 27 are met, 1 are met in part, and 1 are not met.",
            "Of 28, 26 are met, 2 are met in part, and 0 are not met.",
            "126 are met, 1 are met in part, and 1 are not met.", "",
        ]
    )
    func wrongCounts(counts: String) {
        #expect(problems(rows, counts: counts).count == 1)
    }
}
