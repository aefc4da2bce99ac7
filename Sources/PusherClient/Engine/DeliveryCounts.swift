/// The counts of the shell. The event loop has its own, and adds them up when it next holds the lock, because counting
/// is not worth a lock.
struct DeliveryCounts {
    var messagesReceived = 0
    var bytesReceived = 0
    var messagesSent = 0
    var bytesSent = 0
    /// The events that did not go through the machine.
    var eventsDelivered = 0
    /// Delivered events without a listener.
    var unhandledEvents = 0
    /// Elements that sequences dropped.
    var sequenceOverflows = 0
    /// Events whose data did not fit a consumer's type.
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
    /// A reason that never occurred has no entry.
    mutating func add(_ count: Int, to reason: PusherStatistics.DropReason) {
        if count > 0 { dropped[reason, default: 0] += count }
    }
}
