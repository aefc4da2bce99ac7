import NIOCore
import RealtimeNetworking

/// A listener with a buffer. If the buffer is full, the client stops reading and waits for the listener.
protocol AwaitedListener: AnyObject, Sendable {
    /// Whether the client has to wait for it.
    var isAwaited: Bool { get }
    /// A number that changes whenever the listener takes an element.
    var progress: Int { get }
    /// The client does not wait any more, and what is too much goes.
    ///
    /// - Parameter isStalled: Whether the listener does not move. If it does, the client waits again when the buffer is full.
    func stopWaiting(isStalled: Bool, for engine: ClientEngine)
}

/// The listeners that the client waits for.
struct AwaitedListeners {
    private struct Entry {
        let listener: any AwaitedListener
        var progress: Int
    }

    private var entries: [Entry] = []
    /// The connection that is not read meanwhile, and since when.
    fileprivate var pause: (attempt: AttemptID, start: Instant)?
    fileprivate var timer: Scheduled<Void>?

    var isEmpty: Bool { entries.isEmpty }

    fileprivate mutating func add(_ listener: any AwaitedListener) {
        guard !entries.contains(where: { $0.listener === listener }) else { return }
        entries.append(Entry(listener: listener, progress: listener.progress))
    }

    fileprivate mutating func removeCaughtUp() { entries.removeAll { !$0.listener.isAwaited } }

    /// Takes out those that have not moved since the last call.
    fileprivate mutating func takeStalled() -> [any AwaitedListener] {
        var stalled: [any AwaitedListener] = []
        entries = entries.compactMap { entry in
            let progress = entry.listener.progress
            if progress != entry.progress { return Entry(listener: entry.listener, progress: progress) }
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
    /// A listener that does not move for so long is not waited for.
    static let moment = Duration.milliseconds(90)

    /// Pings of the server are answered, and the server's answers are read, before anybody loses patience.
    private var longestPause: Duration { min(read { $0.machine.configuration.timeouts.pong } / 2, .seconds(5)) }

    /// Stops reading until the listener has caught up.
    func awaitListener(_ listener: any AwaitedListener) {
        if loopState.value.awaited.pause == nil {
            guard let attempt = read({ $0.machine.connection.establishedAttempt }),
                let connection = loopState.value.connections[attempt]
            else { return listener.stopWaiting(isStalled: true, for: self) }
            loopState.value.awaited.pause = (attempt, now())
            connection.setReading(false)
            watchListeners()
        }
        loopState.value.awaited.add(listener)
    }

    private func watchListeners() {
        let moment = TimeAmount(clamping: Self.moment)
        loopState.value.awaited.timer = eventLoop.scheduleTask(in: moment) { self.momentPassed() }
    }

    private func momentPassed() {
        loopState.value.awaited.removeCaughtUp()
        for listener in loopState.value.awaited.takeStalled() { listener.stopWaiting(isStalled: true, for: self) }
        if let pause = loopState.value.awaited.pause, now() - pause.start >= longestPause {
            for listener in loopState.value.awaited.takeAll() { listener.stopWaiting(isStalled: false, for: self) }
        }
        if loopState.value.awaited.isEmpty { goOnReading() } else { watchListeners() }
        endDelivery()
        publishCounts()
    }

    func listenerCaughtUp() {
        loopState.value.awaited.removeCaughtUp()
        if loopState.value.awaited.isEmpty { goOnReading() }
    }

    private func goOnReading() {
        guard let pause = loopState.value.awaited.pause else { return }
        forgetPause()
        loopState.value.connections[pause.attempt]?.setReading(true)
    }

    /// The connection has ended. Listeners that have not caught up are waited for on the next one.
    func connectionEnded(_ id: AttemptID) {
        loopState.value.connections[id] = nil
        if loopState.value.awaited.pause?.attempt == id { forgetPause() }
    }

    private func forgetPause() {
        loopState.value.awaited.timer?.cancel()
        loopState.value.awaited = AwaitedListeners()
    }
}
