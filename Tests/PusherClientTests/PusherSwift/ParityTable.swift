/// The tables of a page that name this package's test for each behaviour of PusherSwift.
///
/// A table counts if it has two columns, and the name of the first column begins with `PusherSwift`.
struct ParityTable {
    struct Row {
        /// The line number in the page, from 1.
        var line: Int
        var cells: [String]

        var answer: String { cells.last ?? "" }
        var differs: Bool { answer.hasPrefix("**differs**") }
    }

    struct Section {
        var heading: String
        var rows: [Row] = []

        /// The number in parentheses at the end of the heading, or nil if there is no number.
        var count: Int? {
            guard heading.hasSuffix(")"), let start = heading.lastIndex(of: "(") else { return nil }
            return Int(heading[heading.index(after: start)...].dropLast())
        }
    }

    static let reasons = ["defect not kept", "Objective-C", "Apple-only transport", "superseded default"]
    static let maximumDifferences = 15

    private(set) var sections: [Section] = []
    var rows: [Row] { sections.flatMap(\.rows) }

    init(_ text: String) {
        var isInTable = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line.hasPrefix("## ") { sections.append(Section(heading: String(line.dropFirst(3)))) }
            guard line.hasPrefix("|") else {
                isInTable = false
                continue
            }
            let cells = Self.cells(of: line)
            if isInTable {
                let isRule = cells.allSatisfy { $0.contains("-") && $0.allSatisfy { "-:".contains($0) } }
                guard !isRule else { continue }
                if sections.isEmpty { sections.append(Section(heading: "")) }
                sections[sections.count - 1].rows.append(Row(line: index + 1, cells: cells))
            } else {
                isInTable = cells.count == 2 && cells[0].hasPrefix("PusherSwift")
            }
        }
    }

    private static func cells(of line: Substring) -> [String] {
        var cells = [""]
        var isEscaped = false
        for character in line.dropFirst() {
            if character == "|", !isEscaped { cells.append("") } else { cells[cells.count - 1].append(character) }
            isEscaped = character == "\\"
        }
        // The part after the last bar is not a cell.
        if cells.count > 1, cells[cells.count - 1].allSatisfy({ $0 == " " }) { cells.removeLast() }
        return cells.map { String($0.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()) }
    }

    // MARK: Problems

    /// Returns the page's problems, each with its line.
    ///
    /// - Parameter tests: The names of the existing tests, in the form `Suite.function`.
    func problems(knowing tests: Set<String>) -> [String] {
        var problems: [String] = []
        for section in sections {
            if let count = section.count, count != section.rows.count {
                problems.append(
                    "\(section.heading): the heading says \(count), the table has \(section.rows.count) rows"
                )
            }
            for row in section.rows {
                problems += Self.problems(of: row, tests).map { "line \(row.line), “\(row.cells[0])”: \($0)" }
            }
        }
        let differences = rows.count(where: \.differs)
        if differences > Self.maximumDifferences {
            problems.append("\(differences) rows differ; no more than \(Self.maximumDifferences) may")
        }
        return problems
    }

    private static func problems(of row: Row, _ tests: Set<String>) -> [String] {
        guard row.cells.count == 2 else { return ["\(row.cells.count) cells rather than two"] }
        var problems: [String] = []
        if row.cells[0].isEmpty { problems.append("the behaviour is missing") }
        if row.differs {
            let isReasoned = reasons.contains { row.answer.hasPrefix("**differs** (\($0)): ") }
            if !isReasoned { problems.append("it differs for none of the reasons \(reasons.joined(separator: ", "))") }
            let unknown = codeSpans(of: row.answer).filter { isTestName($0) && !tests.contains($0) }
            return problems + unknown.map { "there is no test \($0)" }
        }
        for name in row.answer.split(separator: ",", omittingEmptySubsequences: false).map({ $0.drop { $0 == " " } }) {
            guard name.hasPrefix("`"), name.hasSuffix("`"), isTestName(String(name.dropFirst().dropLast())) else {
                problems.append("“\(name)” is not a test's name in backticks, like `SuiteTests.function`")
                continue
            }
            let test = String(name.dropFirst().dropLast())
            if !tests.contains(test) { problems.append("there is no test \(test)") }
        }
        return problems
    }

    private static func codeSpans(of text: String) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap { index, part in
            index.isMultiple(of: 2) ? nil : String(part)
        }
    }

    /// Returns whether a string is a suite's name, a dot and a function's name.
    private static func isTestName(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].hasSuffix("Tests") else { return false }
        return parts.allSatisfy { part in !part.isEmpty && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } }
    }
}
