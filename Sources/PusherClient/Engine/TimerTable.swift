import NIOCore

/// The running timers, by the ids of their machine. Only the event loop uses this value.
struct TimerTable<ID: Hashable & Sendable> {
    private var timers: [ID: Scheduled<Void>] = [:]

    var count: Int { timers.count }

    /// Starts a timer. The new timer replaces a running timer with this id.
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

    /// Removes a timer that has fired.
    mutating func remove(_ id: ID) {
        timers.removeValue(forKey: id)
    }
}

extension TimerTable<TimerID> {
    var purposes: [TimerID.Purpose] { timers.keys.map(\.purpose) }
}
