/// The channels by name, and for each what an ordinary event needs to know of it: nothing is copied to find out.
package struct SubscriptionTable: Hashable, Sendable {
    private struct Entry: Hashable, Sendable {
        /// Who gets the events of the channel as they come; nil where nobody wants it, or they have to be decrypted.
        var recipient: ChannelID?
        /// Exactly one. In an array, so that it has memory of its own: it is large, and a dictionary keeps room for
        /// about twice as many values as it has.
        var subscription: [SubscriptionStateMachine]

        init(_ subscription: SubscriptionStateMachine) {
            recipient = subscription.recipient
            self.subscription = [subscription]
        }
    }

    private var entries: [String: Entry] = [:]

    package init() {}

    /// The channel of that name. To change what it holds in place there is ``update(_:_:)``.
    package subscript(name: String) -> SubscriptionStateMachine? {
        get { entries[name]?.subscription[0] }
        set { entries[name] = newValue.map { Entry($0) } }
    }

    /// Changes the channel where it stands; nil where there is none. A list of thousands of members is not copied.
    package mutating func update<Result>(
        _ name: String,
        _ change: (inout SubscriptionStateMachine) -> Result
    ) -> Result? {
        guard let index = entries.index(forKey: name) else { return nil }
        let result = change(&entries.values[index].subscription[0])
        entries.values[index].recipient = entries.values[index].subscription[0].recipient
        return result
    }

    package func recipient(_ name: String) -> ChannelID? { entries[name]?.recipient }

    package var isEmpty: Bool { entries.isEmpty }
    package var count: Int { entries.count }
    /// How many of them are subscribed.
    package var subscribedCount: Int { entries.values.count { $0.subscription[0].isSubscribed } }

    /// Those that the application wants, in the order of their first subscription. Their ids are sorted, and not they
    /// themselves: each is large.
    package var wantedNames: [String] {
        var wanted: [(id: ChannelID, name: String)] = []
        for (name, entry) in entries where entry.subscription[0].isWanted {
            wanted.append((entry.subscription[0].id, name))
        }
        wanted.sort { $0.id < $1.id }
        return wanted.map(\.name)
    }

    package var names: some Sequence<String> { entries.keys }
    package var values: some Sequence<SubscriptionStateMachine> { entries.values.lazy.map { $0.subscription[0] } }
}

extension SubscriptionStateMachine {
    fileprivate var recipient: ChannelID? { isWanted && decryption == nil ? id : nil }
}
