import PusherProtocol

@testable import PusherCore

/// Records the reports to the app about its channels, and checks that they are consistent. No member joins twice, or
/// leaves without having joined. Held events of an encrypted channel keep their order. A client event is sent once, in
/// order, and on a subscribed channel.
///
/// The names of events contain their order. Encrypted events are `e1`, `e2`…, and client events `client-1`, `client-2`…
struct ChannelLedger {
    private(set) var violations: [String] = []
    /// The names of the subscribed channels.
    private var subscribed: [ChannelID: String] = [:]
    private var members: [ChannelID: Set<WireText>] = [:]
    private var lastEncrypted: [ChannelID: Int] = [:]
    private var lastSent: [String: Int] = [:]
    private var sentNumbers: Set<Int> = []
    /// The recipients of ordinary events after the last input, by the channel's name.
    private var recipients: [String: ChannelID] = [:]
    private var retired: Set<ChannelID> = []

    mutating func connectionEnded() { subscribed = [:] }

    mutating func record(_ effect: Effect) {
        switch effect {
        case .subscribed(let id, let event, _):
            check(subscribed.updateValue(event.channel ?? "", forKey: id) == nil, "a channel is subscribed twice")
        case .retired(let id):
            subscribed[id] = nil
            retired.insert(id)
        case .send(_, let message) where message.event == EventName.unsubscribe:
            let name = message.data.value?["channel"]?.string
            subscribed = subscribed.filter { $0.value != name }
        case .membersReplaced(let id, let list, let difference):
            replace(id, list, difference)
        case .memberAdded(let id, let member, _):
            check(subscribed[id] != nil, "\(member.id) joins a channel that is not subscribed")
            let isKnown = !members[id, default: []].insert(WireText(member.id)).inserted
            check(!isKnown || member.info != nil, "\(member.id) joins twice")
        case .memberRemoved(let id, let member, _):
            check(subscribed[id] != nil, "\(member.id) leaves a channel that is not subscribed")
            check(
                members[id, default: []].remove(WireText(member.id)) != nil,
                "\(member.id) leaves, but is not a member"
            )
        case .deliver(.channel(let id), let event), .failedToDecrypt(let id, let event, _):
            guard let number = Self.number(event.event, after: "e") else { return }
            check(lastEncrypted[id, default: 0] < number, "encrypted event \(number) arrives out of order")
            lastEncrypted[id] = number
        case .sendClientEvent(_, let item):
            let (name, event) = (item.name, item.envelope)
            check(subscribed.values.contains(name), "\(event.event) is sent on \(name), which is not subscribed")
            guard let number = Self.number(event.event, after: "client-") else { return }
            check(sentNumbers.insert(number).inserted, "\(event.event) is sent twice")
            check(lastSent[name, default: 0] < number, "\(event.event) is sent out of order")
            lastSent[name] = number
        default:
            break
        }
    }

    private mutating func replace(_ id: ChannelID, _ list: [PresenceMember], _ difference: PresenceRoster.Difference) {
        let new = Set(list.map { WireText($0.id) })
        check(new.count == list.count, "a member occurs twice in \(list.map(\.id))")
        if let old = members[id] {
            let isSound =
                Set(difference.added.map { WireText($0.id) }) == new.subtracting(old)
                && Set(difference.removed.map { WireText($0.id) }) == old.subtracting(new)
            check(isSound, "the difference between \(old) and \(new) is reported as \(difference)")
        } else {
            check(
                difference.added.isEmpty && difference.removed.isEmpty,
                "the first list is reported with a difference"
            )
        }
        members[id] = new
    }

    private static func number(_ event: String, after prefix: String) -> Int? {
        event.hasPrefix(prefix) ? Int(event.dropFirst(prefix.count)) : nil
    }

    // MARK: Invariants between two inputs

    mutating func check(_ machine: ClientStateMachine) {
        var wanted: Set<AuthorizationID> = []
        if case .authorizing(let id) = machine.signIn.phase { wanted.insert(id) }
        for subscription in machine.subscriptions.values {
            wanted.formUnion(subscription.authorizations)
            check(subscription)
        }
        checkRecipients(machine.subscriptions)
        let begun = Set(machine.authorizations.jobs.keys)
        check(begun == wanted, "the authorizations \(begun) are pending, expected \(wanted)")
    }

    private mutating func check(_ subscription: SubscriptionStateMachine) {
        let name = subscription.name
        if subscription.isSubscribed {
            check(subscribed[subscription.id] == name, "\(name) is subscribed without a report")
            check(subscription.decryption?.phase != .awaitingKey, "\(name) is subscribed without a key")
        } else {
            check(subscription.roster?.members.isEmpty ?? true, "\(name) has members, but is not subscribed")
        }
    }

    /// The client delivers ordinary events to known recipients without the machine, until a channel is retired.
    private mutating func checkRecipients(_ subscriptions: SubscriptionTable) {
        for (name, id) in recipients where subscriptions.recipient(name) != id {
            check(retired.contains(id), "\(name) has lost its recipient, but its channel is not retired")
        }
        recipients = [:]
        for subscription in subscriptions.values {
            recipients[subscription.name] = subscriptions.recipient(subscription.name)
        }
    }

    private mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }

    mutating func takeViolations() -> [String] {
        defer { violations = [] }
        return violations
    }
}
