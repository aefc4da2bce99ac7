import Foundation
import TestTraits
import Testing

@Suite("The table of PusherSwift's behaviours", .limited)
struct ParityTableTests {
    @Test(
        "each row names existing tests or a reason, and there is a row for each test of PusherSwift"
    )
    func page() throws {
        let page = TestSources.package.appendingPathComponent("Tests/PusherSwiftBehaviours.md")
        let table = ParityTable(try String(contentsOf: page, encoding: .utf8))
        let tests = try TestSources.names(under: TestSources.package.appendingPathComponent("Tests"))
        for problem in table.problems(knowing: tests) { Issue.record("\(problem)") }
        #expect(
            table.sections.compactMap(\.count).prefix(15) == [10, 15, 10, 24, 8, 4, 6, 9, 9, 4, 3, 6, 14, 13, 3]
        )
    }

    // MARK: The check itself

    private static let tests: Set = ["AlphaTests.one", "AlphaTests.two"]

    private func problems(_ rows: String..., heading: String = "Suite") -> [String] {
        let text = "# Page\n\n## \(heading)\n\n| PusherSwift's behaviour | Our test |\n|---|---|\n"
        return ParityTable(text + rows.joined(separator: "\n")).problems(knowing: Self.tests)
    }

    @Test(
        "the check finds no problem in a valid row",
        arguments: [
            "| it works | `AlphaTests.one` |", "| it works | `AlphaTests.one`, `AlphaTests.two` |",
            #"| `a \| b` works | `AlphaTests.one` |"#,
            "| it works | **differs** (superseded default): it is `a.b`. `AlphaTests.two` |",
        ]
    )
    func right(row: String) {
        #expect(problems(row) == [])
        #expect(problems(row, row, heading: "Suite (2)") == [])
    }

    @Test(
        "the check finds an invalid row",
        arguments: [
            ("| it works | `AlphaTests.three` |", "there is no test AlphaTests.three"),
            ("| it works | `AlphaTests.one`, `BetaTests.one` |", "there is no test BetaTests.one"),
            ("| it works | `AlphaTests.one` and more |", "is not a test's name"),
            ("| it works | |", "is not a test's name"),
            ("| it works | AlphaTests.one |", "is not a test's name"), ("| it works | `one` |", "is not a test's name"),
            ("| | `AlphaTests.one` |", "the behaviour is missing"), ("| it works |", "1 cells rather than two"),
            ("| it works | `AlphaTests.one` | more |", "3 cells rather than two"),
            ("| it works | **differs** (taste): `AlphaTests.one` |", "for none of the reasons"),
            ("| it works | **differs** |", "for none of the reasons"),
            ("| it works | **differs** (Objective-C): see `AlphaTests.three` |", "there is no test AlphaTests.three"),
        ]
    )
    func wrong(row: String, problem: String) {
        let problems = problems("| first | `AlphaTests.one` |", row)
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("line 8") == true)
        #expect(problems.first?.contains(problem) == true)
    }

    @Test("the check finds a wrong count in a heading, and more than 15 rows that differ")
    func counts() {
        let row = "| it works | `AlphaTests.one` |"
        #expect(problems(row, heading: "Suite (2)") == ["Suite (2): the heading says 2, the table has 1 rows"])
        let difference = "| it works | **differs** (Objective-C): there is none |"
        let rows = Array(repeating: difference, count: 15).joined(separator: "\n")
        #expect(problems(rows) == [])
        #expect(problems(rows, difference) == ["16 rows differ; no more than 15 may"])
    }

    @Test("the check ignores tables of another kind")
    func otherTables() {
        let text =
            "## Suite\n\n| Other | Our test |\n|---|---|\n| a | b |\n\n| PusherSwift | a | b |\n|---|---|---|\n| a | b | c |"
        #expect(ParityTable(text).rows.isEmpty)
    }

    @Test("the check finds each function with @Test in a suite, unless the test is disabled")
    func sources() {
        let source = """
            @Suite("Alpha") struct AlphaTests {
                struct Inner {}
                @Test("a func of its own", arguments: [1])
                @MainActor func one(number: Int) {}

                func helper() {}

                // @Test func commented() {}
                @Test(.disabled("not now")) func two() {}
                @Test(
                    "three"
                )
                func three() {}
            }

            extension BetaTests {
                @Test func one() {}
            }

            @Test func alone() {}
            """
        #expect(TestSources.names(in: source) == ["AlphaTests.one", "AlphaTests.three", "BetaTests.one"])
    }
}
