import NIOCore
import RealtimeNetworking

/// A listener with a buffer. If the buffer is full, the client stops reading and waits for the listener.
protocol AwaitedListener: AnyObject, Sendable {
    /// Whether the client has to wait for the listener.
    var isAwaited: Bool { get }
    /// A number that changes whenever the listener takes an element.
    var progress: Int { get }
    /// Drops the elements above the limits. Stops waiting for the listener.
    ///
    /// - Parameter isStalled: Whether the client treats the listener as stalled. If not, the client waits for the
    ///   listener again when the buffer is full.
    func stopWaiting(isStalled: Bool, for engine: ClientEngine)
}

/// The listeners that the client waits for.
struct AwaitedListeners {
    private struct Entry {
        let listener: any AwaitedListener
        var progress: Int
        /// The time at which the client first saw this value of `progress`.
        var since: Instant
    }

    private var entries: [Entry] = []
    /// The connection from which the client does not read while it waits for a listener, and the start of this pause.
    fileprivate(set) var pause: (attempt: AttemptID, start: Instant)?
    fileprivate var timer: Scheduled<Void>?

    /// The time at which the client must check the first listener; nil if the client waits for no listener.
    fileprivate var firstDue: Instant? { entries.map { $0.since + ClientEngine.stallTime }.min() }

    fileprivate mutating func add(_ listener: any AwaitedListener, now: Instant) {
        guard !entries.contains(where: { $0.listener === listener }) else { return }
        entries.append(Entry(listener: listener, progress: listener.progress, since: now))
    }

    fileprivate mutating func removeCaughtUp() { entries.removeAll { !$0.listener.isAwaited } }

    /// Removes and returns the listeners that have taken nothing for ``ClientEngine/stallTime``.
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

/// Stops reading while a listener is too slow (back-pressure). Only the event loop uses these methods.
extension ClientEngine {
    /// The time after which the client treats a listener that takes nothing as stalled. The client does not wait for a
    /// stalled listener.
    static let stallTime = Duration.milliseconds(90)

    /// Returns the maximum time for which the client may stop reading. A longer pause would delay pings and answers too
    /// much.
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
        // `stopWaiting` may have set a timer, because its report of the drops can fill the queue of callbacks.
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

    /// Removes a connection that was lost or closed. On the next connection, the client continues to check the
    /// listeners that have not caught up. For such a listener, the time since it last took an element does not start
    /// again.
    ///
    /// - Returns: The connection.
    func connectionEnded(_ id: AttemptID) -> (any TransportConnection)? {
        if loopState.value.awaited.pause?.attempt == id { endPause() }
        defer { shutDownRequesterIfUnused() }
        return loopState.value.connections.removeValue(forKey: id)
    }

    private func endPause() {
        loopState.value.awaited.timer?.cancel()
        loopState.value.awaited.timer = nil
        loopState.value.awaited.pause = nil
    }
}
