/// A queue that keeps each element until the element and all earlier elements are due.
struct DelayedQueue<Element: Sendable>: Sendable {
    private var entries: [(id: Int, element: Element, isDue: Bool)] = []

    var isEmpty: Bool { entries.isEmpty }

    mutating func append(_ element: Element, id: Int, isDue: Bool = false) {
        entries.append((id, element, isDue))
    }

    /// Marks an element as due, and removes the due elements at the front.
    mutating func markDue(_ id: Int) -> [Element] {
        if let index = entries.firstIndex(where: { $0.id == id }) { entries[index].isDue = true }
        let count = entries.firstIndex { !$0.isDue } ?? entries.count
        defer { entries.removeFirst(count) }
        return entries.prefix(count).map(\.element)
    }
}
