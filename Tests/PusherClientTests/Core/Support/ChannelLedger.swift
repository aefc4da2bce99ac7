import PusherClient
import PusherProtocol

/// Records the reports to the app about its channels, and checks that they are consistent: no member joins twice or
/// leaves without having joined, held events of an encrypted channel keep their order, and a client event goes out
/// once, in order, and on a subscribed channel.
///
/// Numbers show the order: encrypted events are called `e1`, `e2`…, client events `client-1`, `client-2`…
struct ChannelLedger {
    private(set) var violations: [String] = []
    /// The channels that are subscribed, with their names.
    private var subscribed: [ChannelID: String] = [:]
    private var members: [ChannelID: Set<String>] = [:]
    private var lastEncrypted: [ChannelID: Int] = [:]
    private var lastSent: [String: Int] = [:]
    private var sentNumbers: Set<Int> = []

    mutating func connectionEnded() { subscribed = [:] }

    mutating func record(_ effect: Effect) {
        switch effect {
        case .subscribed(let id, let event, _):
            check(subscribed.updateValue(event.channel ?? "", forKey: id) == nil, "a channel is subscribed twice")
        case .retired(let id):
            subscribed[id] = nil
        case .send(_, let message) where message.event == EventName.unsubscribe:
            let name = message.data.value?["channel"]?.string
            subscribed = subscribed.filter { $0.value != name }
        case .membersReplaced(let id, let list, let difference):
            replace(id, list, difference)
        case .memberAdded(let id, let member, _):
            check(subscribed[id] != nil, "\(member.id) comes to a channel that is not subscribed")
            check(members[id, default: []].insert(member.id).inserted, "\(member.id) comes twice")
        case .memberRemoved(let id, let member, _):
            check(subscribed[id] != nil, "\(member.id) leaves a channel that is not subscribed")
            check(members[id, default: []].remove(member.id) != nil, "\(member.id) goes, and was not there")
        case .deliver(.channel(let id), let event), .failedToDecrypt(let id, let event, _):
            guard let number = Self.number(event.event, after: "e") else { return }
            check(lastEncrypted[id, default: 0] < number, "encrypted event \(number) comes out of order")
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
        let new = Set(list.map(\.id))
        check(new.count == list.count, "somebody stands twice in \(list.map(\.id))")
        if let old = members[id] {
            let isSound =
                Set(difference.added.map(\.id)) == new.subtracting(old)
                && Set(difference.removed.map(\.id)) == old.subtracting(new)
            check(isSound, "the difference of \(new) to \(old) is told as \(difference)")
        } else {
            check(difference.added.isEmpty && difference.removed.isEmpty, "the first list differs from another")
        }
        members[id] = new
    }

    private static func number(_ event: String, after prefix: String) -> Int? {
        event.hasPrefix(prefix) ? Int(event.dropFirst(prefix.count)) : nil
    }

    // MARK: What must hold between two inputs

    mutating func check(_ machine: ClientStateMachine) {
        var wanted: Set<AuthorizationID> = []
        if case .authorizing(let id) = machine.signIn.phase { wanted.insert(id) }
        for subscription in machine.subscriptions.values {
            wanted.formUnion(subscription.authorizations)
            check(subscription)
        }
        let begun = Set(machine.authorizations.jobs.keys)
        check(begun == wanted, "the authorizations \(begun) are under way, and \(wanted) are awaited")
    }

    private mutating func check(_ subscription: SubscriptionStateMachine) {
        let name = subscription.name
        if subscription.isSubscribed {
            check(subscribed[subscription.id] == name, "\(name) is subscribed, and nobody was told")
            check(subscription.decryption?.phase != .awaitingKey, "\(name) is subscribed, and has no key")
        } else {
            check(subscription.roster?.members.isEmpty ?? true, "\(name) has members, and is not subscribed")
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
