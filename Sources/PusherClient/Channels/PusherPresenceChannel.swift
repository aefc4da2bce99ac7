import NIOConcurrencyHelpers

/// A presence channel: a channel with a list of the users who are subscribed.
///
/// The server sends the list of members, and each subscription replaces it. Each user appears once. The list is empty
/// while the channel is not subscribed. If the client cannot use a server's list, it reports an error, and keeps the
/// previous list until the next list arrives.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
    // A subclass must repeat the conformance. Proof: the subclass is final, and each property that it adds is a `let`
    // whose type the compiler checks. The types are a final Sendable class, and a locked box of a Sendable struct.
    let membershipChanges: Broadcast<MembershipChange>
    private let closures: NIOLockedValueBox<MemberClosures>

    private struct MemberClosures: Sendable {
        var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?
        var isFinished = false
    }

    init(
        name: String,
        id: ChannelID,
        engine: ClientEngine,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil,
        fault: SubscriptionError? = nil
    ) {
        membershipChanges = Broadcast(size: { $0.size }) { [budget = engine.sequenceBudget, work = engine.work] in
            EventBuffer(budget, of: work) { $0.size }
        }
        if fault == nil { membershipChanges.holdElements() }
        closures = NIOLockedValueBox(
            MemberClosures(onMemberAdded: onMemberAdded, onMemberRemoved: onMemberRemoved)
        )
        super.init(
            name: name,
            id: id,
            engine: engine,
            onSubscriptionCountChanged: onSubscriptionCountChanged,
            fault: fault
        )
    }

    // MARK: Members

    /// The members, including this client's own user. Empty while the channel is not subscribed.
    public var members: [PusherPresenceChannelMember] {
        (subscription?.roster?.members ?? []).map { member($0) }
    }

    /// The user id of this client's subscription; nil until the channel is authorized.
    public var myId: String? { subscription?.roster?.myID }

    /// Returns the member with that id; nil if there is none.
    public func findMember(userId: String) -> PusherPresenceChannelMember? {
        subscription?.roster?.member(userId).map { member($0) }
    }

    /// Returns this client's own member; nil while the channel is not subscribed.
    public func me() -> PusherPresenceChannelMember? {
        guard let roster = subscription?.roster, let id = roster.myID else { return nil }
        return roster.member(id).map { member($0) }
    }

    private func member(_ member: PresenceMember) -> PusherPresenceChannelMember {
        PusherPresenceChannelMember(member, decoding: engine.decoding)
    }

    // MARK: Changes

    /// A closure that the client calls on the callback queue with each member who joins.
    ///
    /// When the channel is subscribed again, the client also calls the closure with members who joined meanwhile. It
    /// does not call the closure with the members of the first list. This is a PusherSwift member. New code uses
    /// ``memberships``, or observes the event `pusher:member_added`.
    @preconcurrency public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberAdded } }
        set { replace(\.onMemberAdded, with: newValue) }
    }

    /// A closure that the client calls on the callback queue with each member who leaves.
    ///
    /// When the channel is subscribed again, the client also calls the closure with members who left meanwhile. This is
    /// a PusherSwift member. New code uses ``memberships``, or observes the event `pusher:member_removed`.
    @preconcurrency public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberRemoved } }
        set { replace(\.onMemberRemoved, with: newValue) }
    }

    /// A sequence of all changes of the list of members from now on. Changes since
    /// ``Pusher/subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` that no sequence has got come
    /// first, under the rule for the channel's events. The sequence ends when the channel is unsubscribed.
    public var memberships: EventSequence<MembershipChange> {
        membershipChanges.makeSequence(dropped: { engine.reportEventsWithoutListener($0, on: name) })
            .needingConnection(of: engine)
    }

    override func holdEvents() {
        super.holdEvents()
        membershipChanges.holdElements()
    }

    override func endHolding(at now: Instant) -> [PusherEvent]? {
        guard let unhandled = super.endHolding(at: now) else { return nil }
        membershipChanges.dropHeldElements()
        return unhandled
    }

    override func restartHolding() -> [PusherEvent]? {
        guard let unhandled = super.restartHolding() else { return nil }
        membershipChanges.dropHeldElements()
        membershipChanges.holdElements()
        return unhandled
    }

    override func retire() {
        super.retire()
        membershipChanges.finish()
        _ = closures.withLockedValue { closures in
            defer { closures = MemberClosures(isFinished: true) }
            return closures
        }
    }

    private func replace<Value>(_ path: WritableKeyPath<MemberClosures, Value>, with value: Value) {
        // The comments in `PusherChannel` explain why this code releases the old closure outside the lock.
        _ = closures.withLockedValue { closures in
            guard !closures.isFinished else { return value }
            defer { closures[keyPath: path] = value }
            return closures[keyPath: path]
        }
    }
}

/// A change of the list of members of a presence channel.
public enum MembershipChange: Hashable, Sendable {
    /// The channel is subscribed, and the server has sent the list. If the channel was subscribed before, `added` and
    /// `removed` are the members who joined and left meanwhile. If not, `added` and `removed` are empty.
    case replaced(
        members: [PusherPresenceChannelMember],
        added: [PusherPresenceChannelMember],
        removed: [PusherPresenceChannelMember]
    )
    /// A member joined.
    case added(PusherPresenceChannelMember)
    /// A member left.
    case removed(PusherPresenceChannelMember)

    fileprivate var size: Int {
        switch self {
        case .replaced(let members, let added, let removed):
            [members, added, removed].joined().reduce(256) { $0 + 256 + $1.size }
        case .added(let member), .removed(let member): 256 + member.size
        }
    }
}
