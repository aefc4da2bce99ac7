import NIOConcurrencyHelpers
import PusherClient

/// The counts of client events, which show whether an event was lost without a report.
struct Accounts: Sendable {
    /// The numbers of the client events that were sent.
    private var sent: Set<Int> = []
    private var lastSent: [String: Int] = [:]
    /// The number of triggered events, and the number of events that were reported as not sent.
    var triggered = 0
    var reported = 0
    /// The events that calls in separate tasks await. The order of such tasks is unknown.
    private var awaited: Set<Int> = []

    /// Records that a client event was sent. Returns the violation, if there is one.
    mutating func sent(_ number: Int, on channel: String) -> String? {
        guard sent.insert(number).inserted else { return "the client sends the client event \(number) twice" }
        guard !awaited.contains(number) else { return nil }
        let last = lastSent.updateValue(number, forKey: channel) ?? 0
        return number > last ? nil : "the client sends the client event \(number) on \(channel) after \(last)"
    }

    mutating func await(_ number: Int) { awaited.insert(number) }

    /// - Parameter queued: The number of waiting events.
    func missing(queued: Int) -> String? {
        let unknown = triggered - sent.subtracting(awaited).count - reported - queued
        return unknown > 0 ? "\(unknown) of \(triggered) client events are neither sent nor reported" : nil
    }
}

/// The members of a channel according to its reported changes.
struct FollowedMembers: Sendable {
    private(set) var ids: Set<String> = []
    private var hasBegun = false

    /// Applies a change. Returns the violation, if there is one.
    mutating func apply(_ change: MembershipChange) -> String? {
        switch change {
        case .replaced(let members, let added, let removed):
            let (before, now) = (ids, Set(members.map(\.userId)))
            ids = now
            defer { hasBegun = true }
            let (new, gone) = (Set(added.map(\.userId)), Set(removed.map(\.userId)))
            guard hasBegun, new != now.subtracting(before) || gone != before.subtracting(now) else { return nil }
            return "wrong changes from \(before.sorted()) to \(now.sorted()): +\(new.sorted()) -\(gone.sorted())"
        case .added(let member):
            if !ids.insert(member.userId).inserted { return "\(member.userId) is added twice" }
        case .removed(let member):
            if ids.remove(member.userId) == nil { return "\(member.userId) is removed, but is not a member" }
        }
        return nil
    }
}
