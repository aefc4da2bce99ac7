import Atomics
import NIOConcurrencyHelpers

/// The limits of one listener's buffer.
struct BufferBudget: Sendable {
    let count: Int
    let size: Int
    let total: TotalBudget

    init(count: Int, size: Int, of total: TotalBudget) {
        self.count = max(count, 1)
        self.size = max(size, 1)
        self.total = total
    }
}

/// The limit for all buffers of a client's listeners together, in bytes.
final class TotalBudget: Sendable {
    private let size: Int
    private let used = ManagedAtomic(0)
    private let observer = NIOLockedValueBox<Observer?>(nil)

    // A bare function in a generic box would get another wrapper at each read.
    private struct Observer: Sendable {
        let caughtUp: @Sendable () -> Void
    }

    init(size: Int) { self.size = max(size, 1) }

    /// Sets the function to call, on any thread, when a listener that the client waits for has caught up.
    func onCaughtUp(_ body: @escaping @Sendable () -> Void) {
        observer.withLockedValue { $0 = Observer(caughtUp: body) }
    }

    /// Releases the function, because the client is released.
    func stop() { observer.withLockedValue { $0 = nil } }

    func tellCaughtUp() { observer.withLockedValue { $0 }?.caughtUp() }

    fileprivate func use(_ size: Int) { used.wrappingIncrement(by: size, ordering: .relaxed) }

    fileprivate var isSpent: Bool { used.load(ordering: .relaxed) > size }

    /// Whether more than half of the budget is used. Buffers that nobody reads use at most half of the budget.
    fileprivate var isHalfSpent: Bool { used.load(ordering: .relaxed) > size / 2 }
}

/// The level of one listener's buffer, and the client's decision to wait for the listener.
struct BufferLevel {
    private enum Mode {
        case open
        /// The buffer is full, and the client does not read until the listener has caught up.
        case awaited
        /// The client does not wait. A full buffer drops its oldest elements.
        case stalled
    }

    private let budget: BufferBudget
    /// Whether the client can wait for the listener. If not, a full buffer drops its oldest elements at once.
    private let canBeAwaited: Bool
    private var mode = Mode.open
    private var count = 0
    private var size = 0
    /// The size that the budget has counted. Threads share the budget, so the buffer updates it only after large
    /// changes.
    private var knownSize = 0

    init(_ budget: BufferBudget, canBeAwaited: Bool) {
        self.budget = budget
        self.canBeAwaited = canBeAwaited
        if !canBeAwaited { mode = .stalled }
    }

    /// Whether the client waits for the listener.
    var isAwaited: Bool { mode == .awaited }

    private var isOver: Bool { count > budget.count || size > budget.size }

    /// The space that is left in a buffer.
    struct Space {
        var count = 0
        var size = 0
    }

    /// The space that is left in this buffer. It is negative if the buffer exceeds its limits.
    var space: Space { Space(count: budget.count - count, size: budget.size - size) }

    /// Counts elements that were added. Returns whether the client must wait for the listener.
    mutating func add(_ size: Int, count: Int = 1) -> Bool {
        change(by: count, size)
        if mode == .open, isOver || budget.total.isSpent { mode = .awaited }
        return isAwaited
    }

    /// Counts elements that the listener has taken. Returns whether the listener has caught up, so that the client can
    /// stop waiting.
    mutating func take(_ size: Int, count: Int = 1) -> Bool {
        change(by: -count, -size)
        switch mode {
        case .open: return false
        case .stalled:
            reopen()
            return false
        case .awaited:
            guard self.count <= budget.count / 2, self.size <= budget.size / 2 else { return false }
            mode = .open
            return true
        }
    }

    /// Whether the buffer must drop its oldest element. One element always stays, even if it is larger than the limit.
    var mustDrop: Bool { mode == .stalled && count > 1 && (isOver || knownSize > 0 && budget.total.isHalfSpent) }

    mutating func drop(_ size: Int) { change(by: -1, -size) }

    /// Stops waiting for the listener. From now on, a full buffer drops its oldest elements.
    mutating func stopWaiting() { if mode == .awaited { mode = .stalled } }

    /// Lets the client wait again when the buffer is full.
    mutating func reopen() { if canBeAwaited { mode = .open } }

    /// Resets the counts. Returns whether the client waits for the listener.
    mutating func clear() -> Bool {
        defer { reopen() }
        budget.total.use(-knownSize)
        (count, size, knownSize) = (0, 0, 0)
        return isAwaited
    }

    private mutating func change(by count: Int, _ size: Int) {
        self.count += count
        self.size += size
        let unknown = self.size - knownSize
        guard unknown.magnitude >= 65_536 else { return }
        budget.total.use(unknown)
        knownSize = self.size
    }
}
