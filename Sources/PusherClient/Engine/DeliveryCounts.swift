/// What the event loop has counted since it last held the lock: nothing of it is worth a lock of its own.
struct DeliveryCounts {
    var messagesSent = 0
    var bytesSent = 0
    /// Delivered events that nobody was there for.
    var unhandledEvents = 0
    /// Elements that sequences had no room for.
    var sequenceOverflows = 0
    /// Events that the application's transformer threw at.
    var untransformedEvents = 0

    var isEmpty: Bool { messagesSent + unhandledEvents + sequenceOverflows + untransformedEvents == 0 }
}

extension PusherStatistics {
    mutating func add(_ counts: DeliveryCounts) {
        messages.sent += counts.messagesSent
        messages.bytesSent += counts.bytesSent
        events.unhandled += counts.unhandledEvents
        events.add(counts.sequenceOverflows, to: .sequenceOverflow)
        events.add(counts.untransformedEvents, to: .transformerFailed)
    }
}

extension PusherStatistics.Events {
    /// A reason that never came up has no entry.
    mutating func add(_ count: Int, to reason: PusherStatistics.DropReason) {
        if count > 0 { dropped[reason, default: 0] += count }
    }
}
