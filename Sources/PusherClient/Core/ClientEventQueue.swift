package import PusherProtocol

/// The client events that wait: for their channel to be subscribed, or for the server's limit on their number.
package struct ClientEventQueue: Hashable, Sendable {
    package struct Item: Hashable, Sendable {
        package var channel: ChannelID
        package var envelope: Envelope
        /// The call that waits for it to be written.
        package var waiter: WaiterID?
    }

    private struct Sent: Hashable, Sendable {
        var time: Instant
        var channel: ChannelID
    }

    /// Oldest first, of all channels.
    package private(set) var items: [Item] = []
    /// When the newest were sent on this connection, and on which channel; as many as the limit looks at.
    private var sent: [Sent] = []
    package var timer: TimerID?

    package init() {}

    package func count(of channel: ChannelID) -> Int { items.count { $0.channel == channel } }

    package mutating func append(_ item: Item) { items.append(item) }

    /// The items that may go out now, in order; and after what time others may.
    package mutating func next(
        limit: Int?,
        now: Instant,
        isSubscribed: (ChannelID) -> Bool
    ) -> (items: [Item], wait: Duration?) {
        guard !items.isEmpty else { return ([], nil) }
        var (ready, rest): ([Item], [Item]) = ([], [])
        var wait: Duration?
        sent.removeAll { now - $0.time >= Self.period }
        for item in items {
            if !isSubscribed(item.channel) {
                rest.append(item)
            } else if let limit, sent.count >= max(limit, 1) {
                rest.append(item)
                if let first = sent.first { wait = Self.period - (now - first.time) }
            } else {
                sent.append(Sent(time: now, channel: item.channel))
                if limit == nil, sent.count > Self.remembered { sent.removeFirst() }
                ready.append(item)
            }
        }
        items = rest
        return (ready, wait)
    }

    /// The server's limit counts by the second.
    private static let period = Duration.seconds(1)
    /// How many sent events are remembered where there is no limit.
    private static let remembered = 16

    /// The channel that an error about a client event is about, where only one can be meant.
    package var onlyRecentChannel: ChannelID? {
        guard let channel = sent.last?.channel, sent.allSatisfy({ $0.channel == channel }) else { return nil }
        return channel
    }

    /// The items that are taken out.
    package mutating func remove(where matches: (Item) -> Bool) -> [Item] {
        let removed = items.filter(matches)
        items.removeAll(where: matches)
        return removed
    }

    /// The limit counts anew on the next connection. Calls that wait are not kept waiting over it.
    package mutating func connectionLost() -> [Item] {
        sent = []
        return remove { $0.waiter != nil }
    }
}
