import NIOConcurrencyHelpers
import PusherClient

/// Keeps account of what must not be lost without a word: client events, and events of encrypted channels.
struct Accounts: Sendable {
    /// Numbers of the client events that went out.
    private var sent: Set<Int> = []
    private var lastSent: [String: Int] = [:]
    /// How many were triggered, and of how many it was said that they do not go out.
    var triggered = 0
    var reported = 0
    /// How many went out that a call waited for.
    var awaited = 0
    /// Events of encrypted channels that have to come, and those that came or were said to be unreadable.
    private var encrypted: [String: (due: Int, settled: Int)] = [:]

    // MARK: Client events

    /// A client event goes out. What is wrong with that, if something is.
    mutating func sent(_ number: Int, on channel: String) -> String? {
        guard sent.insert(number).inserted else { return "the client event \(number) goes out twice" }
        let last = lastSent.updateValue(number, forKey: channel) ?? 0
        return number > last ? nil : "the client event \(number) on \(channel) goes out after \(last)"
    }

    func hasSent(_ number: Int) -> Bool { sent.contains(number) }

    /// - Parameter queued: How many still wait.
    func missing(queued: Int) -> String? {
        let unknown = triggered - (sent.count - awaited) - reported - queued
        return unknown > 0 ? "\(unknown) of \(triggered) client events are lost without a word" : nil
    }

    // MARK: Encrypted events

    mutating func expectEncrypted(on channel: String) { encrypted[channel, default: (0, 0)].due += 1 }
    mutating func settledEncrypted(on channel: String) { encrypted[channel, default: (0, 0)].settled += 1 }

    /// What is still to come is given up with the channel.
    mutating func forgetEncrypted(on channel: String) { encrypted[channel] = nil }

    var missingEncrypted: String? {
        let missing = encrypted.filter { $0.value.due > $0.value.settled }.keys.sorted()
        return missing.isEmpty ? nil : "events of \(missing) are lost without a word"
    }
}

/// The members that a channel tells of, change by change.
struct FollowedMembers: Sendable {
    private(set) var ids: Set<String> = []

    /// What is wrong with a change, if something is.
    mutating func apply(_ change: MembershipChange) -> String? {
        switch change {
        case .replaced(let members, _, _):
            ids = Set(members.map(\.userId))
        case .added(let member):
            if !ids.insert(member.userId).inserted { return "\(member.userId) is added twice" }
        case .removed(let member):
            if ids.remove(member.userId) == nil { return "\(member.userId) is removed, and was not there" }
        }
        return nil
    }
}
