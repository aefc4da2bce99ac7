import Atomics
import NIOConcurrencyHelpers

/// How much the buffer of one listener may keep.
struct BufferBudget: Sendable {
    let count: Int
    /// In bytes.
    let size: Int
    let total: TotalBudget

    init(count: Int, size: Int, of total: TotalBudget) {
        self.count = max(count, 1)
        self.size = max(size, 1)
        self.total = total
    }
}

/// How much the buffers of all listeners of a client may keep, in bytes.
final class TotalBudget: Sendable {
    private let size: Int
    private let used = ManagedAtomic(0)
    private let caughtUp = NIOLockedValueBox<(@Sendable () -> Void)?>(nil)

    init(size: Int) { self.size = max(size, 1) }

    /// Sets what is called, on any thread, when a listener has caught up that the client waits for.
    func onCaughtUp(_ body: @escaping @Sendable () -> Void) { caughtUp.withLockedValue { $0 = body } }

    func tellCaughtUp() { caughtUp.withLockedValue { $0 }?() }

    fileprivate func use(_ size: Int) { used.wrappingIncrement(by: size, ordering: .relaxed) }

    fileprivate var isSpent: Bool { used.load(ordering: .relaxed) > size }

    /// Buffers that nobody reads leave half of the budget to the others.
    fileprivate var isHalfSpent: Bool { used.load(ordering: .relaxed) > size / 2 }
}

/// How full the buffer of one listener is, and whether the client waits for the listener.
struct BufferLevel {
    private enum Mode {
        case open
        /// The buffer is full, and the client does not read until the listener has caught up.
        case awaited
        /// The client does not wait: if the buffer is full, the oldest elements are dropped.
        case stalled
    }

    private let budget: BufferBudget
    /// Whether the client can wait for the listener. If not, the oldest elements go as soon as the buffer is full.
    private let canBeAwaited: Bool
    private var mode = Mode.open
    private var count = 0
    private var size = 0
    /// What the budget knows of. It is shared by threads, so it is told now and then.
    private var knownSize = 0

    init(_ budget: BufferBudget, canBeAwaited: Bool) {
        self.budget = budget
        self.canBeAwaited = canBeAwaited
        if !canBeAwaited { mode = .stalled }
    }

    /// Whether the client waits for the listener.
    var isAwaited: Bool { mode == .awaited }

    private var isOver: Bool { count > budget.count || size > budget.size }

    /// How much can be added.
    struct Space {
        var count = 0
        /// In bytes.
        var size = 0
    }

    /// How much can be added. It is negative if the buffer has more than it may keep.
    var space: Space { Space(count: budget.count - count, size: budget.size - size) }

    /// Elements were added. Returns whether the client has to wait for the listener.
    mutating func add(_ size: Int, count: Int = 1) -> Bool {
        change(by: count, size)
        if mode == .open, isOver || budget.total.isSpent { mode = .awaited }
        return isAwaited
    }

    /// The listener has taken elements. Returns whether it has caught up, so that the client need not wait any more.
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

    /// Whether the oldest element has to go. One always stays, however large it is.
    var mustDrop: Bool { mode == .stalled && count > 1 && (isOver || knownSize > 0 && budget.total.isHalfSpent) }

    mutating func drop(_ size: Int) { change(by: -1, -size) }

    /// The client does not wait any more. From now on the oldest elements go.
    mutating func stopWaiting() { if mode == .awaited { mode = .stalled } }

    /// The client waits when the buffer is full again.
    mutating func reopen() { if canBeAwaited { mode = .open } }

    /// The buffer is empty. Returns whether the client waits for it.
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
