import NIOCore

/// Events that were consumed.
///
/// The event loop releases them, because it has allocated their memory. Allocators take several times as long if one
/// thread frees memory while another one allocates.
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

    /// Whether the events must be released, because many are kept. They count in no buffer's limit.
    var isFull: Bool { count >= 64 || size >= 65_536 }

    /// Takes everything out.
    mutating func take() -> Self {
        var taken = Self()
        swap(&taken, &self)
        return taken
    }

    /// Releases everything. It does so on the event loop, unless that costs more than it saves.
    mutating func release(on eventLoop: any EventLoop) {
        let (released, isWorthATask) = (elements, count >= 16)
        self = Self()
        // The closure has the only reference.
        if isWorthATask { eventLoop.execute { withExtendedLifetime(released) {} } }
    }
}
