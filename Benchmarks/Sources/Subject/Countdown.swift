import Synchronization

/// Waits for a number of things to happen, and knows when, and at what cost, each such number of them had.
final class Countdown: Sendable {
    private struct State {
        var seen = 0
        var marks: [ProcessUsage] = []
    }

    private let count: Int
    private let rounds: Int
    private let state = Mutex(State())
    private let end = AsyncStream.makeStream(of: Void.self)

    /// - Parameters:
    ///   - count: How many make a round.
    ///   - rounds: How many rounds are awaited.
    init(_ count: Int, rounds: Int = 1) {
        self.count = count
        self.rounds = rounds
    }

    /// One of them happened.
    func hit() {
        let isOver = state.withLock { state in
            state.seen += 1
            if state.seen.isMultiple(of: count) { state.marks.append(.now) }
            return state.marks.count == rounds
        }
        if isOver { end.continuation.finish() }
    }

    /// Waits for the last round.
    ///
    /// - Returns: What had been used at the end of each.
    func finished() async -> [ProcessUsage] {
        for await _ in end.stream {}
        return state.withLock { $0.marks }
    }
}

extension [Double] {
    /// The value below which that part of all values is.
    func percentile(_ part: Double) -> Double {
        guard !isEmpty else { return .nan }
        return sorted()[Swift.min(count - 1, Int(Double(count) * part))]
    }
}
