package import PusherProtocol

/// The client events that wait until their channel is subscribed, or until the server's limit allows them.
package struct ClientEventQueue: Hashable, Sendable {
    /// An event, or one part of an event.
    package struct Message: Hashable, Sendable {
        package var event: String
        package var data: Envelope.Payload

        package init(event: String, data: Envelope.Payload) {
            self.event = event
            self.data = data
        }
    }

    package struct Item: Hashable, Sendable {
        package var channel: ChannelID
        package var name: String
        package var envelope: Envelope
        /// The call that waits for it to be written.
        package var waiter: WaiterID?
        /// The name of the whole event, if only the newest event with this name counts; otherwise nil. A later one
        /// replaces it, and it does not wait for a subscription.
        package var latestOf: String?
        /// Whether it is a later part of an event, which is useless without the earlier parts.
        package var isLaterPart = false
    }

    /// Why an event is not sent.
    enum UnsentReason: Error {
        case notSubscribed, unsubscribed, connectionLost, subscriptionLost, channelDropped
        case invalidChannel(SubscriptionError)
        case full(waiting: Int, partCount: Int, limit: Int)
    }

    private struct Sent: Hashable, Sendable {
        var time: Instant
        var name: String
        var isRejected = false
    }

    /// The events of channels that are not subscribed, oldest first.
    private var waiting: [ChannelID: [Item]] = [:]
    /// The events that the limit holds back, oldest first.
    private var ready: [ChannelID: [Item]] = [:]
    /// The channels of these events, in the order of their turns.
    private var turns: [ChannelID] = []
    private var counts: [ChannelID: Int] = [:]
    /// The number of events of all channels.
    package private(set) var count = 0
    /// How many of the first waiting events were put back because their socket had ended.
    private var returned: [ChannelID: Int] = [:]
    /// When and on which channel the newest events were sent on this connection; as many as the limit counts.
    private var sent: [Sent] = []

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }

    /// Whether events wait for the server's limit.
    package var isLimited: Bool { !ready.isEmpty }

    package func count(of channel: ChannelID) -> Int { counts[channel] ?? 0 }

    /// The events of a channel, oldest first.
    package func items(of channel: ChannelID) -> [Item] {
        guard counts[channel] != nil else { return [] }
        return (ready[channel] ?? []) + (waiting[channel] ?? [])
    }

    package mutating func append(_ item: Item, isReady: Bool) {
        add(item)
        if isReady { makeReady([item], of: item.channel) } else { waiting[item.channel, default: []].append(item) }
    }

    private mutating func makeReady(_ items: [Item], of channel: ChannelID) {
        guard !items.isEmpty else { return }
        if ready[channel] == nil { turns.append(channel) }
        ready[channel, default: []] += items
    }

    /// Adds an event of which only the newest counts, as one or more items that may go out now. It takes the place of an
    /// earlier one of that name, so that neither the event nor the channel loses its turn. Of one whose first part was sent,
    /// the rest goes out before it.
    ///
    /// - Parameters:
    ///   - items: What the event goes out in. If it is more than the limit allows, it is dropped with the earlier one.
    ///   - limit: How many items of the channel may wait.
    /// - Returns: How many items were dropped.
    package mutating func replaceLatest(
        of name: String,
        on channel: ChannelID,
        with items: [Item],
        limit: Int
    ) -> Int {
        var queue = ready[channel] ?? []
        let start = queue.prefix { $0.latestOf == name && $0.isLaterPart }.count
        let place = queue[start...].firstIndex { $0.latestOf == name } ?? queue.endIndex
        let replaced = queue[place...].prefix { $0.latestOf == name }
        let fits = items.count <= limit - (count(of: channel) - replaced.count)
        let new = fits ? items : []
        for item in replaced { forget(item) }
        for item in new { add(item) }
        queue.replaceSubrange(replaced.indices, with: new)
        if queue.isEmpty {
            turns.removeAll { $0 == channel }
        } else if ready[channel] == nil {
            turns.append(channel)
        }
        ready[channel] = queue.isEmpty ? nil : queue
        return replaced.count + items.count - new.count
    }

    /// Removes matching events, and the channel's turn if none are left.
    private mutating func removeReady(of channel: ChannelID, where matches: (Item) -> Bool) -> [Item] {
        guard let items = ready[channel] else { return [] }
        var (removed, left): ([Item], [Item]) = ([], [])
        for item in items { if matches(item) { removed.append(item) } else { left.append(item) } }
        guard !removed.isEmpty else { return [] }
        ready[channel] = left.isEmpty ? nil : left
        if left.isEmpty { turns.removeAll { $0 == channel } }
        for item in removed { forget(item) }
        return removed
    }

    /// Lets the events of a newly subscribed channel be sent. Returns whether there are any.
    package mutating func channelSubscribed(_ channel: ChannelID) -> Bool {
        returned[channel] = nil
        guard let items = waiting.removeValue(forKey: channel) else { return false }
        makeReady(items, of: channel)
        return true
    }

    /// The items to send now, one of each channel in turn, and the time after which more may be sent.
    package mutating func next(limit: Int?, now: Instant) -> (items: [Item], wait: Duration?) {
        guard !ready.isEmpty else { return ([], nil) }
        sent.removeFirst(sent.firstIndex { now - $0.time < Self.period } ?? sent.count)
        let allowance = limit.map { max(max($0, 1) - sent.count, 0) } ?? .max
        var items: [Item] = []
        // Collected rather than removed one by one, because each removal would move all others.
        var turn = 0
        while items.count < allowance, let item = takeNext(&turn) { items.append(item) }
        turns.removeFirst(turn)
        for item in items { forget(item) }
        sent += items.map { Sent(time: now, name: $0.name) }
        if limit == nil { sent.removeFirst(max(sent.count - Self.remembered, 0)) }
        guard !ready.isEmpty, let first = sent.first else { return (items, nil) }
        return (items, Self.period - (now - first.time))
    }

    /// Removes the oldest event of the channel whose turn it is.
    private mutating func takeNext(_ turn: inout Int) -> Item? {
        guard turn < turns.count else { return nil }
        let channel = turns[turn]
        turn += 1
        guard var items = ready.removeValue(forKey: channel) else { return nil }
        let item = items.removeFirst()
        if !items.isEmpty {
            ready[channel] = items
            turns.append(channel)
        }
        return item
    }

    /// The limit is per second. The period is a little longer, because events can be delayed on their way.
    package static let period = Duration.milliseconds(1_100)
    /// The longest time after which a server may still reject an event.
    private static let patience = Duration.seconds(10)
    /// The time within which servers answer.
    private static let usualDelay = Duration.seconds(2)
    /// How many sent events are remembered if there is no limit.
    private static let remembered = 16

    /// The channel that an error about a client event belongs to, if there is only one candidate.
    package var onlyRecentChannel: String? {
        guard let name = sent.last?.name, sent.allSatisfy({ $0.name == name }) else { return nil }
        return name
    }

    /// Handles that the server has rejected a message without naming it. Returns true if a recent client event explains
    /// it best. Each event explains one error.
    package mutating func takeRejection(now: Instant) -> Bool {
        let index = sent.firstIndex { !$0.isRejected && now - $0.time < Self.usualDelay }
        guard let index else { return false }
        sent[index].isRejected = true
        return true
    }

    /// Whether an event was sent so recently that the server may still reject it.
    package func hasRecent(now: Instant) -> Bool { sent.last.map { now - $0.time < Self.patience } ?? false }

    /// Puts back an event that was not written, because the socket had ended. It is sent on the next connection, before
    /// later events.
    package mutating func takeBack(_ item: Item) {
        let place = returned[item.channel, default: 0]
        returned[item.channel] = place + 1
        add(item)
        waiting[item.channel, default: []].insert(item, at: place)
    }

    /// Removes the items of a channel that goes out of use.
    package mutating func remove(_ channel: ChannelID) -> [Item] {
        let items = items(of: channel)
        count -= counts.removeValue(forKey: channel) ?? 0
        returned[channel] = nil
        waiting[channel] = nil
        if ready.removeValue(forKey: channel) != nil { turns.removeAll { $0 == channel } }
        return items
    }

    /// Removes the items of a call that does not wait any more. Returns how many there were.
    package mutating func removeItems(of waiter: WaiterID) -> Int {
        Array(ready.keys).reduce(0) { $0 + removeReady(of: $1) { $0.waiter == waiter }.count }
    }

    /// Handles the loss of the connection: no channel is subscribed any more, and the limit starts again on the next
    /// connection. Removes and returns the items that do not wait for another connection: those that calls wait for,
    /// and those of which only the newest counts.
    package mutating func connectionLost() -> [Item] {
        sent = []
        let channels = turns
        turns = []
        return channels.flatMap { subscriptionLost($0) }
    }

    /// The same for one channel. The connection and the limit continue.
    package mutating func subscriptionLost(_ channel: ChannelID) -> [Item] {
        let lost = removeReady(of: channel) { $0.waiter != nil || $0.latestOf != nil }
        guard let held = ready.removeValue(forKey: channel) else { return lost }
        turns.removeAll { $0 == channel }
        waiting[channel, default: []].insert(contentsOf: held, at: returned[channel] ?? 0)
        return lost
    }

    private mutating func add(_ item: Item) {
        counts[item.channel, default: 0] += 1
        count += 1
    }

    private mutating func forget(_ item: Item) {
        guard let number = counts[item.channel] else { return }
        counts[item.channel] = number > 1 ? number - 1 : nil
        count -= 1
    }
}
