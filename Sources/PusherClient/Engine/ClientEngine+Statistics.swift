import NIOCore

/// What was counted: by the machine, and here.
extension ClientEngine {
    var statistics: PusherStatistics {
        let now = now()
        let droppedCallbacks = dispatchers.reduce(0) { $0 + $1.droppedCount }
        var statistics = read { state in
            var statistics = state.machine.statistics(now: now)
            statistics.add(state.counts)
            return statistics
        }
        statistics.events.add(droppedCallbacks, to: .callbackOverflow)
        return statistics
    }

    /// What the event loop has counted, for whoever holds the lock next.
    func takeCounts() -> DeliveryCounts {
        var counts = DeliveryCounts()
        swap(&counts, &loopState.value.counts)
        return counts
    }
}
