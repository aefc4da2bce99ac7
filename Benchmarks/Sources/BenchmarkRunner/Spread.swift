import Foundation

/// The results of several rounds.
struct Spread: Sendable, Encodable {
    let median: Double
    let min: Double
    let max: Double

    /// Returns nil if there are no finite values.
    init?(_ values: [Double]) {
        let sorted = values.filter(\.isFinite).sorted()
        guard let first = sorted.first, let last = sorted.last else { return nil }
        let middle = sorted.count / 2
        median = sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
        min = first
        max = last
    }
}

extension Double {
    /// The number with two decimals if it is below 10, with one below 100, and otherwise without decimals.
    var short: String {
        switch abs(self) {
        case 100...: String(format: "%.0f", self)
        case 10..<100: String(format: "%.1f", self)
        case 0: "0"
        default: String(format: "%.2f", self)
        }
    }
}
