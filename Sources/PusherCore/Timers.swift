/// The running timers. Each purpose has at most one timer, except authorizations, which have one timer each.
package struct Timers: Hashable, Sendable {
    private struct Key: Hashable, Sendable {
        var purpose: TimerID.Purpose
        var authorization: AuthorizationID?
    }

    private var running: [Key: TimerID] = [:]
    private var serial: UInt64 = 0

    func isRunning(_ purpose: TimerID.Purpose) -> Bool { running[Key(purpose: purpose)] != nil }

    /// Starts a timer. The new timer replaces a running timer for the same purpose.
    mutating func set(
        _ purpose: TimerID.Purpose,
        of authorization: AuthorizationID? = nil,
        after delay: Duration,
        into effects: inout [Effect]
    ) {
        cancel(purpose, of: authorization, into: &effects)
        serial += 1
        let id = TimerID(purpose, serial, of: authorization)
        running[Key(purpose: purpose, authorization: authorization)] = id
        effects.append(.schedule(id, after: delay))
    }

    mutating func cancel(
        _ purpose: TimerID.Purpose,
        of authorization: AuthorizationID? = nil,
        into effects: inout [Effect]
    ) {
        let id = running.removeValue(forKey: Key(purpose: purpose, authorization: authorization))
        if let id { effects.append(.cancel(id)) }
    }

    /// Removes a timer that has fired. Returns `false` if the timer was replaced or cancelled.
    mutating func fired(_ id: TimerID) -> Bool {
        let key = Key(purpose: id.purpose, authorization: id.authorization)
        guard running[key] == id else { return false }
        running[key] = nil
        return true
    }
}
