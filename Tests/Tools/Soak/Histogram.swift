import Foundation

/// Shows the distribution of numbers, and checks it.
enum Histogram {
    /// Returns the problem with the first waits after a loss, or nil if the waits are spread evenly up to their limit.
    static func waits(_ waits: [Double]) -> String? {
        let parts = waits.sorted()
        print("\nthe first wait of each client, as a fraction of its limit")
        show(parts)
        guard !parts.isEmpty else { return "no retry policy was asked for a delay" }
        let count = Double(parts.count)
        let distance =
            parts.enumerated().map { index, part in
                max(abs(part - Double(index) / count), abs(Double(index + 1) / count - part))
            }.max() ?? 1
        // With 1,000 clients, an even distribution exceeds this limit by chance about once in 36 million runs.
        let limit = 3 / count.squareRoot()
        print(String(format: "  distance from an even distribution: %.3f, limit %.3f", distance, limit))
        return distance <= limit ? nil : "the first waits are not spread evenly"
    }

    /// The minimum number of clients for this check. With fewer clients, a single late client may put all others into
    /// one tenth of the time.
    static let judgedArrivals = 500

    /// Returns the problem with the times at which clients reconnected, or nil.
    static func arrivals(_ times: [Double]) -> String? {
        let last = times.max() ?? 0
        print("\nthe reconnects of the clients, in seconds after the server's restart")
        let busiest = show(times, upTo: last)
        guard times.count >= judgedArrivals else { return nil }
        return busiest * 10 <= times.count * 4
            ? nil : "too many reconnects in one tenth of the time: \(busiest) of \(times.count)"
    }

    /// Prints ten rows, and returns the highest count of a row.
    @discardableResult
    private static func show(_ values: [Double], upTo end: Double = 1) -> Int {
        let rows = 10
        var counts = [Int](repeating: 0, count: rows)
        for value in values where value >= 0 && end > 0 { counts[min(Int(value / end * Double(rows)), rows - 1)] += 1 }
        let most = max(counts.max() ?? 0, 1)
        for (row, count) in counts.enumerated() {
            let from = String(format: "%7.2f", Double(row) / Double(rows) * end)
            print(
                "  from \(from)  \(String(format: "%5d", count))  \(String(repeating: "#", count: count * 50 / most))"
            )
        }
        return most
    }
}
