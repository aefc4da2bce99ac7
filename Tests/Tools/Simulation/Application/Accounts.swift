import NIOConcurrencyHelpers
import PusherClient

/// Records client events, which must not be lost silently.
struct Accounts: Sendable {
    /// Numbers of the client events that were sent.
    private var sent: Set<Int> = []
    private var lastSent: [String: Int] = [:]
    /// The number of triggered events, and of those that were reported as not sent.
    var triggered = 0
    var reported = 0
    /// Events of waiting calls, in separate tasks. The order of two tasks is unknown.
    private var awaited: Set<Int> = []

    /// A client event is sent. The violation in that, if there is one.
    mutating func sent(_ number: Int, on channel: String) -> String? {
        guard sent.insert(number).inserted else { return "the client event \(number) goes out twice" }
        guard !awaited.contains(number) else { return nil }
        let last = lastSent.updateValue(number, forKey: channel) ?? 0
        return number > last ? nil : "the client event \(number) on \(channel) goes out after \(last)"
    }

    mutating func await(_ number: Int) { awaited.insert(number) }

    func hasSent(_ number: Int) -> Bool { sent.contains(number) }

    /// - Parameter queued: The number of waiting events.
    func missing(queued: Int) -> String? {
        let unknown = triggered - sent.subtracting(awaited).count - reported - queued
        return unknown > 0 ? "\(unknown) of \(triggered) client events are lost without a word" : nil
    }
}

/// The members of a channel according to its reported changes.
struct FollowedMembers: Sendable {
    private(set) var ids: Set<String> = []
    private var hasBegun = false

    /// The violation in a change, if there is one.
    mutating func apply(_ change: MembershipChange) -> String? {
        switch change {
        case .replaced(let members, let added, let removed):
            let (before, now) = (ids, Set(members.map(\.userId)))
            ids = now
            defer { hasBegun = true }
            let (new, gone) = (Set(added.map(\.userId)), Set(removed.map(\.userId)))
            guard hasBegun, new != now.subtracting(before) || gone != before.subtracting(now) else { return nil }
            return "from \(before.sorted()) to \(now.sorted()) it tells of \(new.sorted()) and \(gone.sorted())"
        case .added(let member):
            if !ids.insert(member.userId).inserted { return "\(member.userId) is added twice" }
        case .removed(let member):
            if ids.remove(member.userId) == nil { return "\(member.userId) is removed, and was not there" }
        }
        return nil
    }
}
