import NIOCore

/// The running timers, by the ids of their machine. Only the event loop uses this value.
struct TimerTable<ID: Hashable & Sendable> {
    /// A timer that fires. It may have been cancelled or replaced: the event loop runs all tasks that are due, even those
    /// that an earlier one of them cancels.
    struct Firing: Sendable {
        let id: ID
        fileprivate let serial: UInt64
    }

    private var timers: [ID: (serial: UInt64, scheduled: Scheduled<Void>)] = [:]
    private var serial: UInt64 = 0

    var count: Int { timers.count }

    /// Starts a timer. The new timer replaces a running timer with this id.
    mutating func schedule(
        _ id: ID,
        after delay: Duration,
        on eventLoop: any EventLoop,
        fire: @escaping @Sendable (Firing) -> Void
    ) {
        cancel(id)
        serial += 1
        let firing = Firing(id: id, serial: serial)
        timers[id] = (serial, eventLoop.scheduleTask(in: TimeAmount(clamping: delay)) { fire(firing) })
    }

    mutating func cancel(_ id: ID) {
        timers.removeValue(forKey: id)?.scheduled.cancel()
    }

    /// Removes a timer that fires.
    ///
    /// - Returns: Whether the timer was running, so that it may have an effect.
    mutating func remove(_ firing: Firing) -> Bool {
        guard timers[firing.id]?.serial == firing.serial else { return false }
        timers[firing.id] = nil
        return true
    }
}

extension TimerTable<TimerID> {
    var purposes: [TimerID.Purpose] { timers.keys.map(\.purpose) }
}
