import NIOCore
import PusherProtocol

/// The channels that hold events without a listener, in the order in which their time is over. Only the event loop uses
/// this value.
struct HoldingChannels {
    fileprivate struct Entry {
        // The client keeps the channel until the app unsubscribes.
        weak let channel: PusherChannel?
        let end: Instant
    }

    fileprivate var entries = CircularBuffer<Entry>(initialCapacity: 1)
    fileprivate var timer: Scheduled<Void>?

    /// Whether a timer runs.
    var hasTimer: Bool { timer != nil }
}

/// Holds the events of a new subscription until the channel has a listener for them. Otherwise, the events between
/// `subscribe` and the first listener would be lost if the app's thread is slower than the server.
extension ClientEngine {
    /// The time for which a channel holds events. It begins when the server has answered the subscription.
    static let holdingTime = Duration.seconds(5)

    /// Calls a new callback with the events that waited for it. Any thread may call this method.
    func callHeld(_ binding: Binding) {
        eventLoop.execute { binding.dispatcher.enqueue(for: self) { binding.callHeld() } }
    }

    /// Limits the time for which the channel holds events, if this has not happened yet. Call this method on the event
    /// loop.
    func limitHolding(of channel: PusherChannel) {
        // A callback of the event for the subscription may have ended the connection.
        guard read({ $0.machine.connection.isConnected }) else { return }
        let end = now() + Self.holdingTime
        guard channel.listeners.limitHolding(until: end) else { return }
        loopState.value.holdings.entries.append(.init(channel: channel, end: end))
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
        let loop = eventLoop.assumeIsolated()
        loopState.value.holdings.timer = loop.scheduleTask(in: TimeAmount(clamping: time)) { [weak self] in
            self?.endDueHoldings()
        }
    }

    private func endDueHoldings() {
        let now = now()
        loopState.value.holdings.timer = nil
        while let first = loopState.value.holdings.entries.first {
            guard first.end <= now else { return scheduleHoldingEnd(in: first.end - now) }
            _ = loopState.value.holdings.entries.popFirst()
            countUnhandled(first.channel?.endHolding(at: now) ?? [])
        }
        // An empty buffer would keep its memory.
        loopState.value.holdings = HoldingChannels()
        publishCounts()
        #if Metrics
            tellMetrics()
        #endif
    }

    /// Drops all held events, because the app has ended the connection. The channels hold the events of the next
    /// connection.
    func dropHeldEvents() {
        loopState.value.holdings.timer?.cancel()
        loopState.value.holdings = HoldingChannels()
        // A channel whose subscription the server has not answered can hold events too.
        for channel in read({ Array($0.channels.values) }) { countUnhandled(channel.restartHolding() ?? []) }
    }

    /// Reports the events that a new listener misses, because too many waited. Any thread may call this method.
    func reportEventsWithoutListener(_ released: HeldEvents.Released) {
        guard released.droppedCount > 0 else { return }
        reportEventsWithoutListener(released.droppedCount, on: released.channelName)
    }

    /// Reports elements that a new listener misses, because too many waited. Any thread may call this method.
    func reportEventsWithoutListener(_ count: Int, on channelName: String?) {
        let error = PusherClientError(
            .eventsDropped,
            """
            Events dropped: \(count). They arrived before the channel had a listener for them. Until then, a channel \
            keeps the newest \(HeldElements<PusherEvent>.maximumCount) events or \
            \(HeldElements<PusherEvent>.maximumSize) bytes. Make listeners right after subscribe(_:), or before \
            connect().
            """,
            channelName: channelName
        )
        eventLoop.execute {
            self.loopState.value.counts.eventsWithoutListener += count
            self.tell(error)
            self.publish(error)
            self.publishCounts()
        }
    }
}
