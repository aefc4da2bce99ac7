/// What the shell counts. The event loop keeps its own until it next holds the lock: nothing of it is worth a lock.
struct DeliveryCounts {
    var messagesReceived = 0
    var bytesReceived = 0
    var messagesSent = 0
    var bytesSent = 0
    /// The events that did not go through the machine.
    var eventsDelivered = 0
    /// Delivered events that nobody was there for.
    var unhandledEvents = 0
    /// Elements that sequences have dropped.
    var sequenceOverflows = 0
    /// Events whose data was not what a consumer expected.
    var undecodableEvents = 0
    /// Events for which the app's transformer threw.
    var untransformedEvents = 0

    /// Adds an event that does not go through the machine.
    mutating func addEvent(size: Int) {
        messagesReceived &+= 1
        bytesReceived &+= size
        eventsDelivered &+= 1
    }

    mutating func add(_ other: DeliveryCounts) {
        messagesReceived += other.messagesReceived
        bytesReceived += other.bytesReceived
        messagesSent += other.messagesSent
        bytesSent += other.bytesSent
        eventsDelivered += other.eventsDelivered
        unhandledEvents += other.unhandledEvents
        sequenceOverflows += other.sequenceOverflows
        undecodableEvents += other.undecodableEvents
        untransformedEvents += other.untransformedEvents
    }
}

extension PusherStatistics {
    mutating func add(_ counts: DeliveryCounts) {
        messages.received += counts.messagesReceived
        messages.bytesReceived += counts.bytesReceived
        messages.sent += counts.messagesSent
        messages.bytesSent += counts.bytesSent
        events.received += counts.eventsDelivered
        events.delivered += counts.eventsDelivered
        events.unhandled += counts.unhandledEvents
        events.add(counts.sequenceOverflows, to: .sequenceOverflow)
        events.add(counts.undecodableEvents, to: .undecodable)
        events.add(counts.untransformedEvents, to: .transformerFailed)
    }
}

extension PusherStatistics.Events {
    /// A reason that never came up has no entry.
    mutating func add(_ count: Int, to reason: PusherStatistics.DropReason) {
        if count > 0 { dropped[reason, default: 0] += count }
    }
}
