import NIOCore

/// What was counted: by the machine, and here.
extension ClientEngine {
    var statistics: PusherStatistics {
        let now = now()
        let droppedCallbacks = dispatchers.reduce(0) { $0 + $1.droppedCount }
        var statistics = read { $0.statistics(now: now) }
        statistics.events.add(droppedCallbacks, to: .callbackOverflow)
        return statistics
    }

    /// Has what the event loop counted be seen, where nothing else is about to take the lock.
    func flushCounts() {
        guard !loopState.value.counts.isEmpty else { return }
        let counts = takeCounts()
        update { $0.counted.add(counts) }
    }

    /// What the event loop has counted, for whoever holds the lock next.
    func takeCounts() -> DeliveryCounts {
        var counts = DeliveryCounts()
        swap(&counts, &loopState.value.counts)
        return counts
    }
}

extension ClientEngine.State {
    func statistics(now: Instant) -> PusherStatistics {
        var statistics = machine.statistics(now: now)
        statistics.messages.received = counted.messages.received
        statistics.messages.bytesReceived = counted.messages.bytesReceived
        statistics.messages.sent = counted.messages.sent
        statistics.messages.bytesSent = counted.messages.bytesSent
        statistics.events.unhandled = counted.events.unhandled
        for (reason, count) in counted.events.dropped { statistics.events.add(count, to: reason) }
        return statistics
    }
}
