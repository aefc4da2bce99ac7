import NIOCore

/// A queue that keeps each element until the element and all earlier elements are due.
struct DelayedQueue<Element: Sendable>: Sendable {
    private var entries = CircularBuffer<(id: Int, element: Element, isDue: Bool)>()

    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ element: Element, id: Int, isDue: Bool = false) {
        entries.append((id, element, isDue))
    }

    /// Marks an element as due, and removes the due elements at the front.
    mutating func markDue(_ id: Int) -> [Element] {
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].isDue = true }
        var due: [Element] = []
        while let entry = entries.first, entry.isDue {
            due.append(entry.element)
            entries.removeFirst()
        }
        return due
    }
}
