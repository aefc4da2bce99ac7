import NIOCore

/// The sequences that repeatedly get the status while the client waits before an attempt. Only the event loop uses this
/// value.
struct Countdowns {
    fileprivate struct Countdown {
        weak let buffer: EventBuffer<ConnectionStatus>?
        let interval: TimeAmount
        /// The timer; nil unless the client waits.
        var timer: RepeatedTask?
    }

    private var countdowns: [Countdown] = []

    /// The number of timers that run.
    var timerCount: Int { countdowns.count { $0.timer != nil } }

    fileprivate mutating func add(
        _ buffer: EventBuffer<ConnectionStatus>,
        every interval: TimeAmount,
        _ timer: RepeatedTask?
    ) {
        removeUnused()
        countdowns.append(Countdown(buffer: buffer, interval: interval, timer: timer))
    }

    /// Stops the timers, and starts new timers if there is a wait to count down.
    fileprivate mutating func restart(_ start: ((EventBuffer<ConnectionStatus>, TimeAmount) -> RepeatedTask)?) {
        removeUnused()
        for index in countdowns.indices {
            countdowns[index].timer?.cancel()
            countdowns[index].timer = countdowns[index].buffer.flatMap { start?($0, countdowns[index].interval) }
        }
    }

    /// Removes the countdowns of released sequences. A sequence does not report its release, because any thread may
    /// release it.
    fileprivate mutating func removeUnused() {
        for countdown in countdowns where countdown.isUnused { countdown.timer?.cancel() }
        countdowns.removeAll { $0.isUnused }
    }
}

extension Countdowns.Countdown {
    fileprivate var isUnused: Bool { buffer.map(\.isFinished) ?? true }
}

extension ClientEngine {
    /// Repeatedly adds the status to a sequence while the client waits before an attempt, until the sequence is
    /// released.
    func repeatStatus(every interval: Duration, to buffer: EventBuffer<ConnectionStatus>) {
        eventLoop.execute { [weak buffer] in
            guard let buffer, !buffer.isFinished else { return }
            let interval = TimeAmount(interval)
            var timer: RepeatedTask?
            if case .waiting = self.status { timer = self.startCountdown(buffer, interval) }
            self.loopState.value.countdowns.add(buffer, every: interval, timer)
        }
    }

    /// Restarts the countdowns for a new status. Call this method on the event loop.
    func restartCountdowns(for status: ConnectionStatus) {
        guard case .waiting = status else { return loopState.value.countdowns.restart(nil) }
        loopState.value.countdowns.restart { self.startCountdown($0, $1) }
    }

    private func startCountdown(_ buffer: EventBuffer<ConnectionStatus>, _ interval: TimeAmount) -> RepeatedTask {
        eventLoop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { [weak self, weak buffer] task in
            guard let self else { return task.cancel() }
            guard let buffer, !buffer.isFinished else { return self.loopState.value.countdowns.removeUnused() }
            let status = self.status
            if case .waiting = status { self.count(buffer.add(status)) }
        }
    }
}
