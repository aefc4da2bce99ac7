import NIOConcurrencyHelpers
import PusherClient

/// Keeps account of client events, which must not be lost without a word.
struct Accounts: Sendable {
    /// Numbers of the client events that went out.
    private var sent: Set<Int> = []
    private var lastSent: [String: Int] = [:]
    /// How many were triggered, and of how many it was said that they do not go out.
    var triggered = 0
    var reported = 0
    /// Those that calls wait for, in tasks of their own: nobody knows which of two tasks is the first.
    private var awaited: Set<Int> = []

    /// A client event goes out. What is wrong with that, if something is.
    mutating func sent(_ number: Int, on channel: String) -> String? {
        guard sent.insert(number).inserted else { return "the client event \(number) goes out twice" }
        guard !awaited.contains(number) else { return nil }
        let last = lastSent.updateValue(number, forKey: channel) ?? 0
        return number > last ? nil : "the client event \(number) on \(channel) goes out after \(last)"
    }

    mutating func await(_ number: Int) { awaited.insert(number) }

    func hasSent(_ number: Int) -> Bool { sent.contains(number) }

    /// - Parameter queued: How many still wait.
    func missing(queued: Int) -> String? {
        let unknown = triggered - sent.subtracting(awaited).count - reported - queued
        return unknown > 0 ? "\(unknown) of \(triggered) client events are lost without a word" : nil
    }
}

/// The members that a channel tells of, change by change.
struct FollowedMembers: Sendable {
    private(set) var ids: Set<String> = []
    private var hasBegun = false

    /// What is wrong with a change, if something is.
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
