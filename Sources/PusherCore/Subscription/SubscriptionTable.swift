import PusherProtocol

/// The channels by name. Each entry has a copy of the channel id that an ordinary event needs, so a delivery does not
/// copy the subscription.
package struct SubscriptionTable: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        /// The channel that gets events unchanged. Nil if the app does not want the channel, or if the channel is
        /// encrypted. A channel stops being the recipient only if the effect ``Effect/retired(_:)`` follows, because the
        /// client keeps the recipient until then.
        var recipient: ChannelID?
        /// A subscription is large, and a dictionary reserves memory for about twice as many values as it contains. The
        /// box keeps this memory small.
        var subscription: Box<SubscriptionStateMachine>

        init(_ subscription: SubscriptionStateMachine) {
            recipient = subscription.recipient
            self.subscription = Box(subscription)
        }
    }

    private struct Tally: Hashable, Sendable {
        var wanted = 0
        var subscribed = 0
        var queued = 0
        var pending = 0

        mutating func add(_ other: Tally, times number: Int = 1) {
            wanted += number * other.wanted
            subscribed += number * other.subscribed
            queued += number * other.queued
            pending += number * other.pending
        }
    }

    private var entries = WireTable<Entry>()
    /// The current counts of channels. The client reads the counts often, so each change of a channel updates them.
    private var tally = Tally()

    package init() {}

    /// The channel with the name. Use ``read(_:_:)`` and ``update(_:_:)`` for each event and each subscription, because
    /// they do not copy the channel.
    package subscript(name: String) -> SubscriptionStateMachine? {
        get { entries[name]?.subscription.value }
        set {
            let entry = newValue.map { Entry($0) }
            let old = entry.map { entries.updateValue($0, forKey: name) } ?? entries.removeValue(forKey: name)
            if let old { tally.add(Self.counts(of: old), times: -1) }
            if let entry { tally.add(Self.counts(of: entry)) }
        }
    }

    /// Reads the channel without copying it. Returns `nil` if there is no such channel.
    package func read<Result>(_ name: String, _ body: (SubscriptionStateMachine) -> Result) -> Result? {
        guard let entry = entries[name] else { return nil }
        return body(entry.subscription.value)
    }

    /// Changes the channel in place, to avoid a copy of a list with thousands of members. Returns `nil` if there is no
    /// such channel.
    package mutating func update<Result>(
        _ name: String,
        _ change: (inout SubscriptionStateMachine) -> Result
    ) -> Result? {
        var difference = Tally()
        let result = entries.update(name) { entry in
            difference.add(Self.counts(of: entry), times: -1)
            let result = change(&entry.subscription.value)
            entry.recipient = entry.subscription.value.recipient
            difference.add(Self.counts(of: entry))
            return result
        }
        tally.add(difference)
        return result
    }

    private static func counts(of entry: Entry) -> Tally {
        Tally(
            wanted: entry.subscription.value.isWanted ? 1 : 0,
            subscribed: entry.subscription.value.isSubscribed ? 1 : 0,
            queued: entry.subscription.value.isQueued ? 1 : 0,
            pending: entry.subscription.value.isPending ? 1 : 0
        )
    }

    package func recipient(_ name: String) -> ChannelID? { entries[name]?.recipient }

    package var isEmpty: Bool { entries.isEmpty }
    /// The number of channels that the app wants.
    package var wantedCount: Int { tally.wanted }
    /// The number of subscribed channels.
    package var subscribedCount: Int { tally.subscribed }
    /// The number of unanswered subscriptions, including channels that the app no longer wants.
    var pendingCount: Int { tally.pending }
    /// The number of channels that wait for the server's rate limit.
    package var queuedCount: Int { tally.queued }

    /// The names of the channels that the app wants, in the order of their first subscription. The table sorts the ids
    /// instead of the subscriptions, because subscriptions are large.
    package var wantedNames: [String] { names(where: { $0.isWanted }) }

    /// The names of the channels that wait for the server's rate limit, in the order of their first subscription.
    var queuedNames: [String] { names(where: { $0.isQueued }) }

    private func names(where isMeant: (SubscriptionStateMachine) -> Bool) -> [String] {
        var meant: [(id: ChannelID, name: String)] = []
        for (name, entry) in entries where isMeant(entry.subscription.value) {
            meant.append((entry.subscription.value.id, name))
        }
        meant.sort { $0.id < $1.id }
        return meant.map(\.name)
    }

    package var values: some Sequence<SubscriptionStateMachine> { entries.values.lazy.map { $0.subscription.value } }
}

extension SubscriptionStateMachine {
    fileprivate var recipient: ChannelID? { takesEvents && decryption == nil ? id : nil }
}
