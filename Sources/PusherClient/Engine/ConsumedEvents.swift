import NIOCore

/// Consumed events that wait for their release.
///
/// The event loop releases them, because it has allocated their memory. Allocators take several times as long if one
/// thread frees memory while another thread allocates.
struct ConsumedEvents<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private var count = 0
    private var size = 0

    mutating func add(_ element: consuming Element, count: Int = 1, size: Int) {
        elements.append(element)
        self.count += count
        self.size += size
    }

    /// Whether the value has kept so many events that the caller must release them. The events do not count toward the
    /// limit of a buffer.
    var isFull: Bool { count >= 64 || size >= 65_536 }

    /// Removes and returns all events.
    mutating func take() -> Self {
        var taken = Self()
        swap(&taken, &self)
        return taken
    }

    /// Releases all events. The event loop releases many events. For a few events, a task on the event loop would take
    /// more time than it saves.
    mutating func release(on eventLoop: any EventLoop) {
        let (released, isWorthATask) = (elements, count >= 16)
        self = Self()
        // The closure has the only reference.
        if isWorthATask { eventLoop.execute { withExtendedLifetime(released) {} } }
    }
}
