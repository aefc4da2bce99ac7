import NIOConcurrencyHelpers

/// A presence channel: one that knows who is subscribed to it.
///
/// The list of members is the server's, as of its last word: it is replaced with each subscription, nobody stands in it
/// twice, and it is empty while the channel is not subscribed. Where a server's list cannot be used, that is reported, and
/// the one before stays until the next.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
    // A subclass has to say the conformance again. Proof: it is final, and each property that it adds is a `let` of a
    // type that is checked: a final class that is Sendable, and a locked box of a Sendable struct.
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
        membershipChanges = Broadcast { [budget = engine.sequenceBudget] in EventBuffer(budget) { $0.size } }
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

    /// The members, this client's own user among them; none while the channel is not subscribed.
    public var members: [PusherPresenceChannelMember] {
        (subscription?.roster?.members ?? []).map { PusherPresenceChannelMember($0) }
    }

    /// The id under which this client is subscribed: known as soon as the authorization is.
    public var myId: String? { subscription?.roster?.myID }

    /// The member with that id.
    public func findMember(userId: String) -> PusherPresenceChannelMember? {
        subscription?.roster?.member(userId).map { PusherPresenceChannelMember($0) }
    }

    /// This client's own member; nil while the channel is not subscribed.
    public func me() -> PusherPresenceChannelMember? {
        guard let roster = subscription?.roster, let id = roster.myID else { return nil }
        return roster.member(id).map { PusherPresenceChannelMember($0) }
    }

    // MARK: Changes

    /// A PusherSwift member: new code uses ``memberships``, or observes the event `pusher:member_added`.
    ///
    /// Called on the callback queue with each member who comes: also with those who came while the channel was away,
    /// when it is subscribed again. Not called for those who are there at the first subscription.
    @preconcurrency public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberAdded } }
        set { replace(\.onMemberAdded, with: newValue) }
    }

    /// A PusherSwift member: new code uses ``memberships``, or observes the event `pusher:member_removed`.
    ///
    /// Called on the callback queue with each member who leaves: also with those who left while the channel was away,
    /// when it is subscribed again.
    @preconcurrency public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberRemoved } }
        set { replace(\.onMemberRemoved, with: newValue) }
    }

    /// Every change of the list of members from now on. It ends when the channel is unsubscribed.
    public var memberships: EventSequence<MembershipChange> { membershipChanges.makeSequence() }

    override func retire() {
        super.retire()
        membershipChanges.finish()
        _ = closures.withLockedValue { closures in
            defer { closures = MemberClosures(isFinished: true) }
            return closures
        }
    }

    private func replace<Value>(_ path: WritableKeyPath<MemberClosures, Value>, with value: Value) {
        // As with those that all channels have.
        _ = closures.withLockedValue { closures in
            guard !closures.isFinished else { return value }
            defer { closures[keyPath: path] = value }
            return closures[keyPath: path]
        }
    }
}

/// The list of members of a presence channel has changed.
public enum MembershipChange: Hashable, Sendable {
    /// The channel is subscribed, and this is the list. Where it was subscribed before, `added` and `removed` are those
    /// who came and went since its last word; else both are empty.
    case replaced(
        members: [PusherPresenceChannelMember],
        added: [PusherPresenceChannelMember],
        removed: [PusherPresenceChannelMember]
    )
    /// Somebody came.
    case added(PusherPresenceChannelMember)
    /// Somebody left.
    case removed(PusherPresenceChannelMember)

    /// What it takes, in bytes, if a member takes as much as most do.
    fileprivate var size: Int {
        switch self {
        case .replaced(let members, let added, let removed): 256 * (1 + members.count + added.count + removed.count)
        case .added, .removed: 256
        }
    }
}
