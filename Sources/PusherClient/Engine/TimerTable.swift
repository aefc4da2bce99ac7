import NIOCore

/// The timers that run, by the ids that a machine gave them. Confined to the event loop.
struct TimerTable<ID: Hashable & Sendable> {
    private var timers: [ID: Scheduled<Void>] = [:]

    var count: Int { timers.count }

    /// Starts a timer. One that runs under the same id is replaced.
    mutating func schedule(
        _ id: ID,
        after delay: Duration,
        on eventLoop: any EventLoop,
        fire: @escaping @Sendable () -> Void
    ) {
        cancel(id)
        timers[id] = eventLoop.scheduleTask(in: TimeAmount(clamping: delay)) { fire() }
    }

    mutating func cancel(_ id: ID) {
        timers.removeValue(forKey: id)?.cancel()
    }

    /// The timer has fired.
    mutating func remove(_ id: ID) {
        timers.removeValue(forKey: id)
    }
}

extension TimerTable<TimerID> {
    var purposes: [TimerID.Purpose] { timers.keys.map(\.purpose) }
}
