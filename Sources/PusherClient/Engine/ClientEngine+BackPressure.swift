import NIOCore
import RealtimeNetworking

/// A listener with a buffer. If the buffer is full, the client stops reading and waits for the listener.
protocol AwaitedListener: AnyObject, Sendable {
    /// Whether the client has to wait for it.
    var isAwaited: Bool { get }
    /// A number that changes whenever the listener takes an element.
    var progress: Int { get }
    /// Drops the elements above the limits. Stops waiting for the listener.
    ///
    /// - Parameter isStalled: Whether the listener takes nothing. If it does take elements, the client waits again when
    ///   the buffer is full.
    func stopWaiting(isStalled: Bool, for engine: ClientEngine)
}

/// The listeners that the client waits for.
struct AwaitedListeners {
    private struct Entry {
        let listener: any AwaitedListener
        var progress: Int
        /// When this progress was seen first.
        var since: Instant
    }

    private var entries: [Entry] = []
    /// The connection that is not read meanwhile, and since when it is not.
    fileprivate(set) var pause: (attempt: AttemptID, start: Instant)?
    fileprivate var timer: Scheduled<Void>?

    /// When the first listener is checked; nil if the client waits for none.
    fileprivate var firstDue: Instant? { entries.map { $0.since + ClientEngine.stallTime }.min() }

    fileprivate mutating func add(_ listener: any AwaitedListener, now: Instant) {
        guard !entries.contains(where: { $0.listener === listener }) else { return }
        entries.append(Entry(listener: listener, progress: listener.progress, since: now))
    }

    fileprivate mutating func removeCaughtUp() { entries.removeAll { !$0.listener.isAwaited } }

    /// Removes the listeners that take nothing.
    fileprivate mutating func takeStalled(now: Instant) -> [any AwaitedListener] {
        var stalled: [any AwaitedListener] = []
        entries = entries.compactMap { entry in
            let progress = entry.listener.progress
            if progress != entry.progress { return Entry(listener: entry.listener, progress: progress, since: now) }
            if now - entry.since < ClientEngine.stallTime { return entry }
            stalled.append(entry.listener)
            return nil
        }
        return stalled
    }

    fileprivate mutating func takeAll() -> [any AwaitedListener] {
        defer { entries = [] }
        return entries.map(\.listener)
    }
}

/// Back-pressure. All of this happens on the event loop.
extension ClientEngine {
    /// A listener that takes nothing for this time is stalled: the client does not wait for it.
    static let stallTime = Duration.milliseconds(90)

    /// The longest time without reading. A longer pause would delay pings and answers too much.
    private func longestPause(of attempt: AttemptID) -> Duration {
        let longest = loopState.value.connections[attempt]?.longestPause ?? .zero
        return min(read { $0.machine.configuration.timeouts.pong } / 2, longest)
    }

    /// Stops reading until the listener has caught up.
    func pauseReading(for listener: any AwaitedListener) {
        let now = now()
        if loopState.value.awaited.pause == nil {
            guard let attempt = read({ $0.machine.connection.establishedAttempt }),
                let connection = loopState.value.connections[attempt]
            else { return listener.stopWaiting(isStalled: true, for: self) }
            loopState.value.awaited.pause = (attempt, now)
            connection.setReading(false)
        }
        loopState.value.awaited.add(listener, now: now)
        // The client may have waited for some listeners on earlier connections.
        if loopState.value.awaited.timer == nil { judgeListeners() }
    }

    private func judgeListeners() {
        let now = now()
        loopState.value.awaited.timer = nil
        loopState.value.awaited.removeCaughtUp()
        let stalled = loopState.value.awaited.takeStalled(now: now)
        for listener in stalled { listener.stopWaiting(isStalled: true, for: self) }
        guard let pause = loopState.value.awaited.pause else { return }
        let end = pause.start + longestPause(of: pause.attempt)
        if now >= end {
            for listener in loopState.value.awaited.takeAll() { listener.stopWaiting(isStalled: false, for: self) }
        }
        guard let due = loopState.value.awaited.firstDue else { return resumeReading() }
        let wait = TimeAmount(clamping: min(due, end) - now)
        // `stopWaiting` reports drops by a callback. If that fills its queue, `pauseReading` has set a timer already.
        loopState.value.awaited.timer?.cancel()
        loopState.value.awaited.timer = eventLoop.scheduleTask(in: wait) {
            self.judgeListeners()
            self.endDelivery()
            self.publishCounts()
        }
    }

    func listenerCaughtUp() {
        loopState.value.awaited.removeCaughtUp()
        if loopState.value.awaited.firstDue == nil { resumeReading() }
    }

    private func resumeReading() {
        guard let pause = loopState.value.awaited.pause else { return }
        endPause()
        loopState.value.connections[pause.attempt]?.setReading(true)
    }

    /// The connection has ended. Listeners that have not caught up are checked on the next one, for the time on both.
    func connectionEnded(_ id: AttemptID) {
        loopState.value.connections[id] = nil
        if loopState.value.awaited.pause?.attempt == id { endPause() }
    }

    private func endPause() {
        loopState.value.awaited.timer?.cancel()
        loopState.value.awaited.timer = nil
        loopState.value.awaited.pause = nil
    }
}
