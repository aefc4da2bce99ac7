/// A set that keeps the order in which its elements were added. Adding, removing and finding an element take constant
/// time, because a client may subscribe to many thousands of channels.
struct OrderedNames<Element: Hashable & Sendable>: Sendable {
    private var positions: [Element: Int] = [:]
    /// The elements in order. A removed element leaves nil.
    private var slots: [Element?] = []

    init() {}

    /// The elements, oldest first.
    var elements: [Element] { slots.compactMap(\.self) }

    func contains(_ element: Element) -> Bool { positions[element] != nil }

    /// Adds an element. Does nothing if the set contains the element.
    mutating func append(_ element: Element) {
        if contains(element) { return }
        positions[element] = slots.count
        slots.append(element)
    }

    /// Removes an element. Does nothing if the set does not contain the element.
    mutating func remove(_ element: Element) {
        guard let position = positions.removeValue(forKey: element) else { return }
        slots[position] = nil
        guard slots.count > 2 * positions.count + 16 else { return }
        slots = slots.filter { $0 != nil }
        for (position, element) in slots.enumerated() {
            if let element { positions[element] = position }
        }
    }
}
