import NIOConcurrencyHelpers
package import NIOCore
import RealtimePrimitives

/// The timers of a client, on one event loop. They are due by a clock that continues while the computer is suspended.
///
/// The event loop's own timers stop during a suspension. So the table looks at the clock every few seconds, and a
/// client also calls ``fireDue()`` before it handles a call of the app.
package final class ClockedTimers<ID: Hashable & Sendable>: Sendable {
    private struct Timer: Sendable {
        var due: Duration
        var scheduled: Scheduled<Void>
        let fire: @Sendable () -> Void
    }

    private let eventLoop: any EventLoop
    private let now: @Sendable () -> Duration
    private let timers: NIOLoopBoundBox<[ID: Timer]>

    /// - Parameter now: The time of the clock.
    package init(on eventLoop: any EventLoop, now: @escaping @Sendable () -> Duration) {
        self.eventLoop = eventLoop
        self.now = now
        timers = .makeBoxSendingValue([:], eventLoop: eventLoop)
    }

    // MARK: On the event loop

    package var count: Int { timers.value.count }

    /// Sets a timer. The id must not belong to a running timer. The closure must not retain the owner of the table, because
    /// the closure of a timer that never fires would keep the owner in memory.
    package func set(_ id: ID, after delay: Duration, _ fire: @escaping @Sendable () -> Void) {
        let now = now()
        schedule(id, due: now + delay, now: now, fire)
    }

    package func cancel(_ id: ID) { timers.value.removeValue(forKey: id)?.scheduled.cancel() }

    /// Runs the timers that are due although the event loop has not run them, in the order of their due times.
    package func fireDue() {
        let now = now()
        let due = timers.value.filter { $0.value.due <= now }.sorted { $0.value.due < $1.value.due }
        for (id, _) in due { fire(id) }
    }

    private func schedule(_ id: ID, due: Duration, now: Duration, _ fire: @escaping @Sendable () -> Void) {
        let rest = due - now
        let isLast = rest <= Suspension.checkInterval
        let wait = TimeAmount(clamping: isLast ? rest : Suspension.checkInterval)
        let scheduled = eventLoop.scheduleTask(in: wait) { [weak self] in
            // A timer that is due runs even if an earlier task of this turn of the loop has cancelled it.
            guard let self, timers.value[id]?.due == due else { return }
            // The two clocks can differ a little, so the table does not look at the clock after the whole wait.
            if isLast || self.now() >= due { return self.fire(id) }
            schedule(id, due: due, now: self.now(), fire)
        }
        timers.value[id] = Timer(due: due, scheduled: scheduled, fire: fire)
    }

    /// Runs a timer, unless an earlier timer has cancelled it.
    private func fire(_ id: ID) {
        guard let timer = timers.value.removeValue(forKey: id) else { return }
        timer.scheduled.cancel()
        timer.fire()
    }
}
