import Foundation

/// The page about users' demands, with counts in its introduction and one table.
struct UserDemandsPage {
    struct Row {
        /// The line number in the page, from 1.
        var line: Int
        var cells: [String]

        var answer: String { cells.count > 2 ? cells[2] : "" }
    }

    static let header = ["#", "Demand", "Answer", "Tests"]
    static let count = 28
    static let marks = ["**partly**", "**not met**"]

    private(set) var introduction = ""
    private(set) var rows: [Row] = []

    init(_ text: String) {
        var isInTable = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            guard line.hasPrefix("|") else {
                if !isInTable { introduction += "\(line) " }
                continue
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            if cells == Self.header {
                isInTable = true
            } else if isInTable, !cells.allSatisfy({ $0.hasPrefix("--") }) {
                rows.append(Row(line: index + 1, cells: cells))
            }
        }
    }

    /// Returns the page's problems, each with its line.
    ///
    /// - Parameter tests: The names of the existing tests, in the form `Suite.function`.
    func problems(knowing tests: Set<String>) -> [String] {
        var problems: [String] = []
        let numbers = rows.map { $0.cells.first ?? "" }
        if numbers != (1...Self.count).map({ "\($0)" }) {
            problems.append("the rows are not numbered from 1 to \(Self.count): \(numbers.joined(separator: " "))")
        }
        for row in rows { problems += Self.problems(of: row, tests).map { "line \(row.line): \($0)" } }
        let marked = Self.marks.map { mark in rows.count { $0.answer.hasPrefix(mark) } }
        let met = rows.count - marked.reduce(0, +)
        let counts = " \(met) are met, \(marked[0]) are met in part, and \(marked[1]) are not met"
        if !introduction.contains(counts) { problems.append("the introduction does not say:\(counts)") }
        return problems
    }

    private static func problems(of row: Row, _ tests: Set<String>) -> [String] {
        guard row.cells.count == header.count else { return ["\(row.cells.count) cells rather than \(header.count)"] }
        var problems = zip(header, row.cells).filter { $0.1.isEmpty }.map { "\($0.0) is empty" }
        if row.answer.hasPrefix("**"), !marks.contains(where: { row.answer.hasPrefix($0) }) {
            problems.append("the answer begins with a mark that is none of \(marks.joined(separator: ", "))")
        }
        let names = row.cells[3]
        guard !names.isEmpty, !names.hasPrefix("none: ") else { return problems }
        for name in names.split(separator: ",", omittingEmptySubsequences: false) {
            let name = name.trimmingCharacters(in: .whitespaces)
            let test = String(name.dropFirst().dropLast())
            if name != "`\(test)`" {
                problems.append("“\(name)” is not a test's name in backticks")
            } else if !tests.contains(test) {
                problems.append("there is no test \(test)")
            }
        }
        return problems
    }
}
