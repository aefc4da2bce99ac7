import NIOCore

/// Events that were consumed.
///
/// The event loop releases them, for it has allocated their memory: allocators take several times as long when one thread
/// frees what another one allocates meanwhile.
struct Spent<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var count = 0
    /// In bytes.
    private var size = 0

    mutating func add(_ element: consuming Element, count: Int = 1, size: Int) {
        elements.append(element)
        self.count += count
        self.size += size
    }

    /// Whether so much is kept that it has to be released. No budget counts it.
    var isFull: Bool { count >= 64 || size >= 65_536 }

    /// Takes everything out.
    mutating func take() -> Self {
        var taken = Self()
        swap(&taken, &self)
        return taken
    }

    /// Releases everything: on the event loop, unless it is less than a task costs.
    mutating func release(on eventLoop: any EventLoop) {
        let (released, isWorthATask) = (elements, count >= 16)
        self = Self()
        // The closure has the only reference.
        if isWorthATask { eventLoop.execute { withExtendedLifetime(released) {} } }
    }
}
