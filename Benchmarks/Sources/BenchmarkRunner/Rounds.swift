import Foundation

/// The results of a suite's runs. The runs are made in turns, A B C, A B C, … so that other work on the machine affects
/// all runs.
struct Rounds {
    private(set) var values: [Run: [[String: Double]]] = [:]

    init(_ suite: Suite, count: Int, _ launcher: SubjectLauncher) throws {
        for _ in 0..<count {
            for run in suite.runs { values[run, default: []].append(try launcher.values(of: run)) }
        }
    }

    init(_ values: [Run: [[String: Double]]]) { self.values = values }

    func numbers(_ measured: Measured) -> [Double] {
        let numbers = (values[measured.run] ?? []).compactMap { $0[measured.key] }
        return measured.bases.reduce(numbers) { numbers, base in
            zip(numbers, self.numbers(Measured(run: base, key: measured.key))).map { $0 - $1 }
        }
    }

    func spread(_ measured: Measured) -> Spread? { Spread(numbers(measured)) }

    /// The spread of the row's ratios in all rounds, or of its values if there is no reference.
    func comparison(_ row: Row) -> Spread? {
        let values = numbers(row.value)
        switch row.reference {
        case .measured(let reference): return Spread(zip(values, numbers(reference)).map { $0 / $1 })
        case .known(let reference, where: let other, let took):
            return Spread(zip(values, numbers(other)).map { $0 / reference / ($1 / took) })
        case .none: return Spread(values.map { row.unit.scaled($0) })
        }
    }

    func reference(_ row: Row) -> Spread? {
        switch row.reference {
        case .measured(let reference): spread(reference)
        case .known(let reference, where: let other, let took):
            Spread(numbers(other).map { reference * $0 / took })
        case .none: nil
        }
    }
}
