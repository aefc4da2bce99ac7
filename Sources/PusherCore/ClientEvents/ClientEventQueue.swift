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
        /// The call that waits until the event has been written.
        package var waiter: WaiterID?
        /// The name of the event, if a newer event with this name can replace the item; otherwise nil. A replaceable
        /// item does not wait for a subscription.
        package var latestOf: String?
        /// The number that identifies the app's event. All parts of an event have the same number.
        package var number: Int
        /// The index of the item among the parts of its event, from 0.
        package var part = 0

        /// Whether the item is a later part of an event. Such a part is useless without the earlier parts.
        var isLaterPart: Bool { part > 0 }

        func isBefore(_ other: Item) -> Bool { (number, part) < (other.number, other.part) }
    }

    /// The reason why the client does not send an event.
    enum UnsentReason {
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
    /// The events that the server's limit holds back, oldest first.
    private var ready: [ChannelID: [Item]] = [:]
    /// The channels of ``ready``, in the order of their turns.
    private var turns: [ChannelID] = []
    private var counts: [ChannelID: Int] = [:]
    /// The number of events of all channels together.
    package private(set) var count = 0
    private var lastNumber = 0
    /// The numbers of the events that have lost a part since the last loss of the connection.
    private var incomplete: Set<Int> = []
    /// The newest events that were sent on this connection. The queue uses these events to apply the limit, and to find
    /// the event that an error is about.
    private var sent: [Sent] = []

    package init() {}

    package var isEmpty: Bool { counts.isEmpty }

    /// Whether the server's limit holds back events.
    package var isLimited: Bool { !ready.isEmpty }

    /// Returns the number of a new event.
    package mutating func makeNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    package func count(of channel: ChannelID) -> Int { counts[channel] ?? 0 }

    /// Returns the events of a channel, oldest first.
    package func items(of channel: ChannelID) -> [Item] {
        guard counts[channel] != nil else { return [] }
        return (ready[channel] ?? []) + (waiting[channel] ?? [])
    }

    package mutating func append(_ item: Item, isReady: Bool) {
        add(item)
        if isReady { makeReady([item], of: item.channel) } else { makeWait([item], of: item.channel) }
    }

    private mutating func makeWait(_ items: [Item], of channel: ChannelID) {
        Self.insert(items, into: &waiting[channel, default: []])
    }

    private mutating func makeReady(_ items: [Item], of channel: ChannelID) {
        guard !items.isEmpty else { return }
        if ready[channel] == nil { turns.append(channel) }
        Self.insert(items, into: &ready[channel, default: []])
    }

    /// Inserts each item after the items of earlier events, because ``putBack(_:)`` can put items back in any order.
    private static func insert(_ items: [Item], into queue: inout [Item]) {
        for item in items {
            let place = queue.lastIndex { $0.isBefore(item) }.map { $0 + 1 } ?? 0
            queue.insert(item, at: place)
        }
    }

    /// Adds the items of an event that replaces older events with the same name. The items are ready to be sent. The
    /// new event gets the position of the older event, so neither the event nor the channel loses its turn. If the
    /// client has sent the first part of the older event, it sends the other parts before the new event.
    ///
    /// - Parameters:
    ///   - items: The items of the event. If they exceed the limit, the queue drops them together with the older event.
    ///   - limit: The maximum number of waiting items of the channel.
    /// - Returns: The number of dropped items.
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

    /// Removes and returns matching events. If no events are left, also removes the channel's turn.
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

    /// Allows the events of a newly subscribed channel to be sent. Returns whether the channel has waiting events.
    package mutating func channelSubscribed(_ channel: ChannelID) -> Bool {
        guard let items = waiting.removeValue(forKey: channel) else { return false }
        makeReady(items, of: channel)
        return true
    }

    /// Returns the items to send now, and the time after which more items can be sent. Each channel in turn sends one
    /// item.
    package mutating func next(limit: Int?, now: Instant) -> (items: [Item], wait: Duration?) {
        guard !ready.isEmpty else { return ([], nil) }
        sent.removeFirst(sent.firstIndex { now - $0.time < Self.period } ?? sent.count)
        let allowance = limit.map { max(max($0, 1) - sent.count, 0) } ?? .max
        var items: [Item] = []
        // Remove the turns together at the end, because each single removal would move all other turns.
        var turn = 0
        while items.count < allowance, let item = takeNext(&turn) { items.append(item) }
        turns.removeFirst(turn)
        for item in items { forget(item) }
        sent += items.map { Sent(time: now, name: $0.name) }
        if limit == nil { sent.removeFirst(max(sent.count - Self.remembered, 0)) }
        guard !ready.isEmpty, let first = sent.first else { return (items, nil) }
        return (items, Self.period - (now - first.time))
    }

    /// Removes and returns the oldest event of the next channel.
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

    /// The period in which the client counts events for the limit. Servers limit the events per second. The period is a
    /// little longer than a second, because delays in transit can bring events closer together.
    package static let period = Duration.milliseconds(1_100)
    /// The time after which the client no longer expects that the server rejects an event.
    private static let patience = Duration.seconds(10)
    /// The time within which servers usually reject an event.
    private static let usualDelay = Duration.seconds(2)
    /// The number of sent events that the queue remembers if there is no limit.
    private static let remembered = 16

    /// The only channel with recently sent events; nil if there is no such channel, or more than one.
    package var onlyRecentChannel: String? {
        guard let name = sent.last?.name, sent.allSatisfy({ $0.name == name }) else { return nil }
        return name
    }

    /// Handles a rejection that names no message. Returns true if a recent client event is the most likely cause. Each
    /// event counts as the cause of only one rejection.
    package mutating func takeRejection(now: Instant) -> Bool {
        let index = sent.firstIndex { !$0.isRejected && now - $0.time < Self.usualDelay }
        guard let index else { return false }
        sent[index].isRejected = true
        return true
    }

    /// Returns whether an event was sent so recently that the server may still reject it.
    package func hasRecent(now: Instant) -> Bool { sent.last.map { now - $0.time < Self.patience } ?? false }

    /// Drops the waiting parts of an event after the loss of one part. ``putBack(_:)`` does not accept the parts that
    /// are being written.
    ///
    /// - Returns: The number of dropped parts.
    package mutating func loseParts(after item: Item) -> Int {
        incomplete.insert(item.number)
        let channel = item.channel
        let lost = (waiting[channel] ?? []).filter { $0.number == item.number }
        if !lost.isEmpty { waiting[channel]?.removeAll { $0.number == item.number } }
        for part in lost { forget(part) }
        return lost.count + removeReady(of: channel) { $0.number == item.number }.count
    }

    /// Puts back an event that was not written before the connection was lost. The client sends the event on the next
    /// connection, before later events.
    ///
    /// - Returns: `false` if an earlier part of the event was lost.
    package mutating func putBack(_ item: Item) -> Bool {
        guard !incomplete.contains(item.number) else { return false }
        add(item)
        makeWait([item], of: item.channel)
        return true
    }

    /// Removes and returns the items of a retired channel object.
    package mutating func remove(_ channel: ChannelID) -> [Item] {
        let items = items(of: channel)
        count -= counts.removeValue(forKey: channel) ?? 0
        waiting[channel] = nil
        if ready.removeValue(forKey: channel) != nil { turns.removeAll { $0 == channel } }
        return items
    }

    /// Removes the items of a call that no longer waits for them. Returns the number of removed items.
    package mutating func removeItems(of waiter: WaiterID) -> Int {
        Array(ready.keys).reduce(0) { $0 + removeReady(of: $1) { $0.waiter == waiter }.count }
    }

    /// Handles the loss of the connection. No channel is subscribed any more, and the limit starts again on the next
    /// connection. Removes and returns the items that calls wait for, and the items that a newer event would replace.
    /// All other items wait for the next connection.
    package mutating func connectionLost() -> [Item] {
        sent = []
        incomplete = []
        let channels = turns
        turns = []
        return channels.flatMap { subscriptionLost($0) }
    }

    /// Handles the loss of one subscription. The connection stays open, so events that were already sent still count
    /// toward the limit.
    package mutating func subscriptionLost(_ channel: ChannelID) -> [Item] {
        let lost = removeReady(of: channel) { $0.waiter != nil || $0.latestOf != nil }
        guard let held = ready.removeValue(forKey: channel) else { return lost }
        turns.removeAll { $0 == channel }
        makeWait(held, of: channel)
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
