import Synchronization

/// Waits for a number of events, and records the time and the cost of each round.
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
    ///   - count: The number of events in a round.
    ///   - rounds: The number of rounds to wait for.
    init(_ count: Int, rounds: Int = 1) {
        self.count = count
        self.rounds = rounds
    }

    /// Counts one event.
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
    /// - Returns: The usage at the end of each round.
    func finished() async -> [ProcessUsage] {
        for await _ in end.stream {}
        return state.withLock { $0.marks }
    }
}

extension [Double] {
    /// Returns the percentile of the values for a fraction from 0 to 1.
    func percentile(_ part: Double) -> Double {
        guard !isEmpty else { return .nan }
        return sorted()[Swift.min(count - 1, Int(Double(count) * part))]
    }
}
