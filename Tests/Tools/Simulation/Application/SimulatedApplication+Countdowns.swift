import NIOConcurrencyHelpers
import NIOCore
import PusherClient

/// The state of a reader of `statuses(every:)`.
struct Countdown: Sendable {
    let interval: TimeAmount
    /// The last element, and the time at which it arrived.
    var status: ConnectionStatus?
    var since = NIODeadline.uptimeNanoseconds(0)

    /// Records the next element. Returns the violation, if there is one.
    ///
    /// - Parameter change: The next element of `statuses`, which has no repetitions; nil if the element repeats a
    ///   status.
    mutating func receive(_ status: ConnectionStatus, change: ConnectionStatus?, at now: NIODeadline) -> String? {
        defer { (self.status, since) = (status, now) }
        if let change { return status == change ? nil : "a countdown says \(status), and the status is \(change)" }
        guard status.isWaiting else { return "a countdown repeats \(status)" }
        return now - since >= interval ? nil : "a countdown repeats \(status) after \(now - since)"
    }
}

/// The sequences that repeat the status during a wait.
extension SimulatedApplication {
    /// - Parameter limit: The number of elements after which the app releases the sequence; nil for no limit.
    func countDown(every milliseconds: Int, atMost limit: Int?) {
        guard let pusher else { return }
        let id = nextID()
        let interval = Duration.milliseconds(milliseconds)
        let (statuses, changes) = (pusher.statuses(every: interval), pusher.statuses)
        state.withLockedValue { $0.countdowns[id] = Countdown(interval: TimeAmount(interval)) }
        let task = Task { [weak self] in
            var changes = changes.makeAsyncIterator()
            var last: ConnectionStatus?
            var count = 0
            for await status in statuses {
                let change = status == last ? nil : await changes.next()
                guard !Task.isCancelled else { break }
                self?.received(status, change: change, by: id)
                last = status
                count += 1
                if count == limit { break }
            }
            self?.state.withLockedValue { $0.countdowns[id] = nil }
            self?.ended(id)
        }
        state.withLockedValue { $0.readers.append(Reader(id: id, channel: nil, task: task)) }
    }

    private func received(_ status: ConnectionStatus, change: ConnectionStatus?, by id: Int) {
        if change == nil { ledger.note("a countdown repeats the status") }
        let now = ledger.loop.now
        let problem = state.withLockedValue { $0.countdowns[id]?.receive(status, change: change, at: now) }
        if let problem { violations.add(problem) }
    }

    /// The time at which the client continued after its last sleep.
    var wakeTime: NIODeadline { state.withLockedValue { $0.wakeTime } }

    /// Records that the client continues. Its timers stopped during the sleep, or are late.
    func woke() { state.withLockedValue { $0.wakeTime = ledger.loop.now } }

    /// Checks that each countdown has the client's status, and repeats the status in time.
    ///
    /// - Parameter timerCount: The number of the client's timers that repeat the status.
    func checkCountdowns(_ status: ConnectionStatus, timerCount: Int) {
        let (countdowns, wakeTime) = state.withLockedValue { (Array($0.countdowns.values), $0.wakeTime) }
        violations.check(
            status.isWaiting ? timerCount >= countdowns.count : timerCount == 0,
            "\(timerCount) timers repeat the status \(status) for \(countdowns.count) countdowns"
        )
        for countdown in countdowns {
            violations.check(
                countdown.status == status,
                "a countdown says \(countdown.status.map { "\($0)" } ?? "nothing"), and the status is \(status)"
            )
            let isLate = status.isWaiting && ledger.loop.now - max(countdown.since, wakeTime) >= countdown.interval
            violations.check(!isLate, "a countdown does not repeat \(status)")
        }
    }
}

extension ConnectionStatus {
    fileprivate var isWaiting: Bool { if case .waiting = self { true } else { false } }
}
