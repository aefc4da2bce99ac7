/// Requested faults, each for some targets, and for a number of times or for all.
struct FaultList<Target: Equatable & Sendable, Fault: Sendable>: Sendable {
    private var entries: [(target: Target, fault: Fault, remaining: Int?)] = []

    /// - Parameter count: Nil for all. Less than one adds nothing.
    mutating func append(_ fault: Fault, for target: Target, count: Int?) {
        if let count, count <= 0 { return }
        // Faults after one without a limit would never be used.
        entries.removeAll { $0.target == target && $0.remaining == nil }
        entries.append((target, fault, count))
    }

    mutating func removeAll() { entries = [] }

    /// The next fault, which is then used up.
    mutating func next(where matches: (Target) -> Bool) -> Fault? {
        let indices = entries.indices.filter { matches(entries[$0].target) }
        // A fault without a limit comes after those with one, and a newer one without a limit replaces it.
        let counted = indices.first { entries[$0].remaining != nil }
        guard let index = counted ?? indices.last else { return nil }
        let (_, fault, remaining) = entries[index]
        if let remaining {
            if remaining > 1 { entries[index].remaining = remaining - 1 } else { entries.remove(at: index) }
        }
        return fault
    }
}
