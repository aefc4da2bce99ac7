import NIOCore
import PusherProtocol

/// The channels that hold events without a listener, in the order in which their time is over. Only the event loop uses
/// this value.
struct HoldingChannels {
    fileprivate struct Entry {
        // The client keeps the channel until the app unsubscribes.
        weak let channel: PusherChannel?
        let id: HoldingID
        let due: Instant
    }

    fileprivate var entries = CircularBuffer<Entry>(initialCapacity: 1)
    fileprivate var timer: Scheduled<Void>?
}

/// Holds the events of a new subscription until the channel has a listener for them. Otherwise, the events between
/// `subscribe` and the first listener would be lost if the app's thread is slower than the server. The methods run on
/// the event loop.
extension ClientEngine {
    /// The time for which a channel holds events. It begins when the server has answered the subscription.
    static let holdingTime = Duration.seconds(5)

    /// Holds an event. Returns whether the channel's registry accepted the event.
    ///
    /// - Parameter isHandled: Whether the event has other listeners.
    func hold(_ event: PusherEvent, for registry: ListenerRegistry, isHandled: Bool) -> Bool {
        let result = registry.hold(event, isHandled: isHandled)
        loopState.value.counts.unhandledEvents += result.unhandledCount
        if result.mustRelease { releaseHeldEvents(of: registry) }
        if result.mustLimit, let name = event.channelName, let channel = read({ $0.channel(named: name) }),
            channel.listeners === registry
        {
            limitHolding(of: channel)
        }
        return result.isHeld
    }

    /// Delivers the held events that have a listener now.
    func releaseHeldEvents(of registry: ListenerRegistry) {
        let released = registry.takeHeldEvents()
        for event in released.events { deliver(event, to: audience(of: event, registry)) }
        guard released.droppedCount > 0 else { return }
        reportEventsWithoutListener(released.droppedCount, on: released.channelName)
    }

    /// Limits the time for which the channel holds events. Without a connection, the time does not begin, because no
    /// events arrive.
    func limitHolding(of channel: PusherChannel) {
        guard read({ $0.machine.connection.isConnected }), let id = channel.listeners.limitHolding() else { return }
        let due = now() + Self.holdingTime
        loopState.value.holdings.entries.append(.init(channel: channel, id: id, due: due))
        if loopState.value.holdings.timer == nil { scheduleHoldingEnd(in: Self.holdingTime) }
    }

    /// Holds events again, because the app has subscribed to the channel again. Any thread may call this method.
    func holdEvents(again channel: PusherChannel) {
        channel.holdEvents()
        // Otherwise, the time begins with the server's answer.
        guard channel.isSubscribed else { return }
        eventLoop.execute { self.limitHolding(of: channel) }
    }

    private func scheduleHoldingEnd(in time: Duration) {
        loopState.value.holdings.timer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(clamping: time)) {
            self.endDueHoldings()
        }
    }

    private func endDueHoldings() {
        let now = now()
        loopState.value.holdings.timer = nil
        while let first = loopState.value.holdings.entries.first {
            guard first.due <= now else { return scheduleHoldingEnd(in: first.due - now) }
            _ = loopState.value.holdings.entries.popFirst()
            endHolding(first, reopen: false)
        }
        // An empty buffer would keep its memory.
        loopState.value.holdings.entries = CircularBuffer(initialCapacity: 1)
        publishCounts()
    }

    private func endHolding(_ entry: HoldingChannels.Entry, reopen: Bool) {
        guard let channel = entry.channel else { return }
        loopState.value.counts.unhandledEvents += channel.endHolding(entry.id, reopen: reopen)
    }

    /// Drops all held events, because the app has ended the connection. The channels hold the events of the next
    /// connection.
    func dropHeldEvents() {
        loopState.value.holdings.timer?.cancel()
        let ended = loopState.value.holdings
        loopState.value.holdings = HoldingChannels()
        for entry in ended.entries { endHolding(entry, reopen: true) }
    }

    /// Reports events that were dropped before the channel had a listener.
    func reportEventsWithoutListener(_ count: Int, on channelName: String?) {
        loopState.value.counts.eventsWithoutListener += count
        let error = PusherClientError(
            .eventsDropped,
            """
            Events dropped: \(count). They arrived before the channel had a listener, and a channel keeps the newest \
            \(HeldElements<PusherEvent>.maximumCount) events or \(HeldElements<PusherEvent>.maximumSize) bytes until \
            then. Make the listeners right after subscribe(_:), or before connect().
            """,
            channelName: channelName
        )
        tell(error)
        publish(error)
    }
}
