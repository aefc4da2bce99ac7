/// The requested faults. Each fault affects a target, either a limited number of times or always.
struct FaultList<Target: Equatable & Sendable, Fault: Sendable>: Sendable {
    private var entries: [(target: Target, fault: Fault, remaining: Int?)] = []

    /// - Parameter count: The number of times that the fault applies. Nil means always. If the number is below 1, the
    ///   list does not change.
    mutating func append(_ fault: Fault, for target: Target, count: Int?) {
        if let count, count <= 0 { return }
        // Remove the older fault without a limit. Otherwise, the older fault would apply again after the new fault has
        // reached its limit.
        entries.removeAll { $0.target == target && $0.remaining == nil }
        entries.append((target, fault, count))
    }

    mutating func removeAll() { entries = [] }

    /// Returns the next fault, and counts its use.
    mutating func next(where matches: (Target) -> Bool) -> Fault? {
        let indices = entries.indices.filter { matches(entries[$0].target) }
        // Faults with a limit apply before faults without a limit. Of the faults without a limit, the newest applies.
        let counted = indices.first { entries[$0].remaining != nil }
        guard let index = counted ?? indices.last else { return nil }
        let (_, fault, remaining) = entries[index]
        if let remaining {
            if remaining > 1 { entries[index].remaining = remaining - 1 } else { entries.remove(at: index) }
        }
        return fault
    }
}
