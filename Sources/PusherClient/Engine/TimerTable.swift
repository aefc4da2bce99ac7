import NIOCore

/// The timers that run, by the ids that the machine gave them. Confined to the event loop.
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

    /// The timer has fired.
    mutating func remove(_ id: TimerID) {
        timers.removeValue(forKey: id)
    }
}

extension TimeAmount {
    /// As near as nanoseconds in 64 bits come; never negative. Rounded up: a timer must not fire before its time.
    init(clamping duration: Duration) {
        // Beyond this the components cannot be had.
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(9_000_000_000)).components
        self = .nanoseconds(seconds * 1_000_000_000 + (attoseconds + 999_999_999) / 1_000_000_000)
    }
}
