import NIOCore

/// The running timers, by the ids from the machine. Confined to the event loop.
struct TimerTable {
    private var timers: [TimerID: Scheduled<Void>] = [:]

    var count: Int { timers.count }
    var purposes: [TimerID.Purpose] { timers.keys.map(\.purpose) }

    mutating func schedule(
        _ id: TimerID,
        after delay: Duration,
        on eventLoop: any EventLoop,
        fire: @escaping @Sendable () -> Void
    ) {
        timers[id] = eventLoop.scheduleTask(in: TimeAmount(clamping: delay)) { fire() }
    }

    mutating func cancel(_ id: TimerID) {
        timers.removeValue(forKey: id)?.cancel()
    }

    /// Removes a timer that has fired.
    mutating func remove(_ id: TimerID) {
        timers.removeValue(forKey: id)
    }
}
