import NIOConcurrencyHelpers

/// A presence channel: a channel that knows who is subscribed to it.
///
/// The list of members is the server's. Each subscription replaces it, each user appears once, and it is empty while
/// the channel is not subscribed. If a server's list cannot be used, an error is reported, and the previous list stays
/// until the next one.
public final class PusherPresenceChannel: PusherChannel, @unchecked Sendable {
    // A subclass must repeat the conformance. Proof: it is final, and each property that it adds is a `let` of a type
    // that is checked: a final class that is Sendable, and a locked box of a Sendable struct.
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

    /// The members, including this client's own user. Empty while the channel is not subscribed.
    public var members: [PusherPresenceChannelMember] {
        (subscription?.roster?.members ?? []).map { PusherPresenceChannelMember($0) }
    }

    /// The user id under which this client is subscribed, as soon as the authorization is known.
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
    /// Called on the callback queue with each member who joins. When the channel is subscribed again, it is also called
    /// with members who joined meanwhile. It is not called for the members of the first list.
    @preconcurrency public var onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberAdded } }
        set { replace(\.onMemberAdded, with: newValue) }
    }

    /// A PusherSwift member: new code uses ``memberships``, or observes the event `pusher:member_removed`.
    ///
    /// Called on the callback queue with each member who leaves. When the channel is subscribed again, it is also
    /// called with members who left meanwhile.
    @preconcurrency public var onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? {
        get { closures.withLockedValue { $0.onMemberRemoved } }
        set { replace(\.onMemberRemoved, with: newValue) }
    }

    /// Every change of the list of members from now on, as a sequence. The sequence ends when the channel is
    /// unsubscribed.
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
        // As with the closures that all channels have.
        _ = closures.withLockedValue { closures in
            guard !closures.isFinished else { return value }
            defer { closures[keyPath: path] = value }
            return closures[keyPath: path]
        }
    }
}

/// The list of members of a presence channel has changed.
public enum MembershipChange: Hashable, Sendable {
    /// The channel is subscribed, and this is the list. If it was subscribed before, `added` and `removed` are the
    /// members who joined and left meanwhile. If not, both are empty.
    case replaced(
        members: [PusherPresenceChannelMember],
        added: [PusherPresenceChannelMember],
        removed: [PusherPresenceChannelMember]
    )
    /// Somebody came.
    case added(PusherPresenceChannelMember)
    /// Somebody left.
    case removed(PusherPresenceChannelMember)

    /// The estimated size in bytes, for members of the usual size.
    fileprivate var size: Int {
        switch self {
        case .replaced(let members, let added, let removed): 256 * (1 + members.count + added.count + removed.count)
        case .added, .removed: 256
        }
    }
}
