/// The running timers. Each purpose has at most one timer, except authorizations and retries, which have one timer each.
package struct Timers: Hashable, Sendable {
    private struct Key: Hashable, Sendable {
        // In this order, the properties need the least memory.
        var owner: UInt64?
        var purpose: TimerID.Purpose
    }

    /// The serial numbers of the running timers.
    private var running: [Key: UInt64] = [:]
    private var serial: UInt64 = 0

    func isRunning(_ purpose: TimerID.Purpose) -> Bool { running[Key(owner: nil, purpose: purpose)] != nil }

    /// Starts a timer. The new timer replaces a running timer for the same purpose.
    mutating func set(
        _ purpose: TimerID.Purpose,
        of owner: UInt64? = nil,
        after delay: Duration,
        into effects: inout [Effect]
    ) {
        cancel(purpose, of: owner, into: &effects)
        serial += 1
        running[Key(owner: owner, purpose: purpose)] = serial
        effects.append(.schedule(TimerID(purpose, serial, of: owner), after: delay))
    }

    mutating func cancel(
        _ purpose: TimerID.Purpose,
        of owner: UInt64? = nil,
        into effects: inout [Effect]
    ) {
        let serial = running.removeValue(forKey: Key(owner: owner, purpose: purpose))
        if let serial { effects.append(.cancel(TimerID(purpose, serial, of: owner))) }
    }

    /// Removes a timer that has fired. Returns `false` if the timer was replaced or cancelled.
    mutating func fired(_ id: TimerID) -> Bool {
        let key = Key(owner: id.owner, purpose: id.purpose)
        guard running[key] == id.serial else { return false }
        running[key] = nil
        return true
    }
}
