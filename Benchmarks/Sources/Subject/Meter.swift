import Synchronization

/// Counts delivered events, and takes the process's usage after the warm-up and at the end.
///
/// The events arrive one after the other, on any thread.
final class Meter: Sendable {
    private let warmUp: Int
    private let total: Int
    private let window: Int
    private let goAhead: @Sendable (Int) -> Void
    private let count = Atomic(0)
    private let untilMark: Atomic<Int>
    private let bytes = Atomic(0)
    private let marks = Mutex<[ProcessUsage]>([])
    private let end = AsyncStream.makeStream(of: Void.self)

    /// - Parameters:
    ///   - window: The number of events after which the meter requests more; zero for no requests.
    ///   - goAhead: Requests more events.
    init(total: Int, warmUp: Int, window: Int = 0, goAhead: @escaping @Sendable (Int) -> Void = { _ in }) {
        self.total = total
        self.warmUp = warmUp
        self.window = window
        self.goAhead = goAhead
        untilMark = Atomic(min(warmUp, window > 0 ? window : .max))
    }

    /// Counts a delivered event with data of this size.
    @inline(always)
    func event(_ size: Int) {
        // No two events arrive at the same time, so no lock is needed.
        bytes.store(bytes.load(ordering: .relaxed) &+ size, ordering: .relaxed)
        let seen = count.load(ordering: .relaxed) &+ 1
        count.store(seen, ordering: .relaxed)
        if seen == untilMark.load(ordering: .relaxed) { reached(seen) }
    }

    private func reached(_ seen: Int) {
        if seen == warmUp || seen == total { marks.withLock { $0.append(.now) } }
        if window > 0, seen.isMultiple(of: window) { goAhead(seen / window) }
        if seen == total { return end.continuation.finish() }
        let nextWindow = window > 0 ? (seen / window + 1) * window : total
        untilMark.store(min(nextWindow, seen < warmUp ? warmUp : total), ordering: .relaxed)
    }

    /// Waits for the last event.
    ///
    /// - Returns: The usage per event between the end of the warm-up and the last event.
    func finished() async -> [String: Double] {
        for await _ in end.stream {}
        let usage = marks.withLock { $0[1] - $0[0] }
        let measured = Double(total - warmUp)
        return usage.values(per: measured).merging([
            "events": measured, "bytes": Double(bytes.load(ordering: .relaxed)) / Double(total),
        ]) { value, _ in value }
    }
}
