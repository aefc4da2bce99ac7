import Foundation

/// The stored results: every row, and every number of every round.
struct Document: Encodable {
    struct Row: Encodable {
        let table: String
        let title: String
        let unit: Unit
        let value: Spread
        let reference: Spread?
        /// The ratios, or the values if there is no reference.
        let comparison: Spread
        let must: Double?
        let stretch: Double?
        let verdict: String
    }

    struct Result: Encodable {
        let run: Run
        let rounds: [[String: Double]]
    }

    var mode = "full"
    let date = ISO8601DateFormatter().string(from: Date())
    let cores = Machine.cores
    let system = ProcessInfo.processInfo.operatingSystemVersionString
    let loadAtStart = Machine.load
    var loadAtEnd = ""
    var rows: [Row] = []
    var runs: [Result] = []
}
