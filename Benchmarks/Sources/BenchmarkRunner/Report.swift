import Foundation

/// The tables, and the results as JSON.
struct Report {
    private var document = Document()
    private let extent: Extent
    private var missing: [String] = []

    init(_ extent: Extent) {
        self.extent = extent
        document.mode = extent.rawValue
        if extent == .check { return }
        print("Load average of this machine at the beginning: \(Machine.load) on \(Machine.cores) cores.\n")
    }

    mutating func add(_ suite: Suite, _ rounds: Rounds) throws {
        var lines = [["", "", "reference", "ratio", "min – max", "must", "stretch", ""]]
        for row in suite.rows {
            guard let comparison = rounds.comparison(row), let value = rounds.spread(row.value) else {
                lines.append([row.title, "no result"])
                missing.append("\(suite.name), \(row.title)")
                continue
            }
            let reference = rounds.reference(row)
            let verdict = Verdict(comparison.median, row)
            lines.append([
                row.title, row.unit.text(value.median), reference.map { row.unit.text($0.median) } ?? "",
                reference == nil ? "" : "×\(comparison.median.short)",
                "\(comparison.min.short) – \(comparison.max.short)", row.must?.short ?? "", row.stretch?.short ?? "",
                verdict.text,
            ])
            document.rows.append(
                Document.Row(
                    table: suite.name,
                    title: row.title,
                    unit: row.unit,
                    value: value,
                    reference: reference,
                    comparison: comparison,
                    must: row.must,
                    stretch: row.stretch,
                    verdict: verdict.text
                )
            )
        }
        print(extent == .check ? "\(suite.name): \(suite.rows.count) rows" : "\(suite.name)\n\(Table.text(lines))\n")
        fflush(nil)
        document.runs += rounds.values.map { run, values in Document.Result(run: run, rounds: values) }
    }

    mutating func add(_ result: (suite: Suite, rounds: Rounds, note: String)) throws {
        try add(result.suite, result.rounds)
        if !result.note.isEmpty, extent != .check { print(result.note + "\n") }
    }

    func finish(writingTo file: URL) throws {
        if extent != .check { try conclude(writingTo: file) }
        guard missing.isEmpty else {
            throw ProcessError(description: "rows without a result: \(missing.joined(separator: "; "))")
        }
    }

    private func conclude(writingTo file: URL) throws {
        var document = document
        document.loadAtEnd = Machine.load
        let verdicts = document.rows.map(\.verdict)
        func count(_ verdict: Verdict) -> Int { verdicts.filter { $0 == verdict.text }.count }
        print(
            """
            \(count(.stretch)) targets met with their stretch, \(count(.met)) met, \(count(.missed)) missed. \
            Load average at the end: \(Machine.load).
            \(file.path)
            """
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(document).write(to: file)
    }
}

/// Whether a row meets its target.
enum Verdict: Sendable {
    case none, missed, met, stretch

    init(_ value: Double, _ row: Row) {
        switch (row.must, row.stretch) {
        case (_, let stretch?) where value <= stretch: self = .stretch
        case (let must?, _): self = value <= must ? .met : .missed
        case (nil, _): self = .none
        }
    }

    var text: String {
        switch self {
        case .none: ""
        case .missed: "MISSED"
        case .met: "met"
        case .stretch: "stretch met"
        }
    }
}

enum Machine {
    static let cores = ProcessInfo.processInfo.activeProcessorCount

    static var load: String {
        var averages = [0.0, 0, 0]
        getloadavg(&averages, 3)
        return averages[0].short
    }
}

enum Table {
    /// Aligned columns.
    static func text(_ lines: [[String]]) -> String {
        let columns = lines.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            lines.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return lines.map { line in
            let cells = line.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                return column == 0 || column == columns - 1 ? cell + padding : padding + cell
            }
            return "  " + cells.joined(separator: "  ")
        }.joined(separator: "\n")
    }
}
