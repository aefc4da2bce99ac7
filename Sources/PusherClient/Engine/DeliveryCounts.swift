/// The counts of the shell. The event loop has separate counts, so that counting needs no lock. It adds them to the
/// shared counts when it next holds the lock.
struct DeliveryCounts {
    var messagesReceived = 0
    var bytesReceived = 0
    var messagesSent = 0
    var bytesSent = 0
    /// The events that did not go through the machine.
    var eventsDelivered = 0
    /// Delivered events without a listener.
    var unhandledEvents = 0
    /// Events that were dropped before their channel had a listener for them.
    var eventsWithoutListener = 0
    /// Elements that sequences dropped.
    var sequenceOverflows = 0
    /// Events whose data could not be decoded as a consumer's type.
    var undecodableEvents = 0
    /// Events for which the app's transformer threw an error.
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
        eventsWithoutListener += other.eventsWithoutListener
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
        events.add(counts.eventsWithoutListener, to: .noListener)
        events.add(counts.sequenceOverflows, to: .sequenceOverflow)
        events.add(counts.undecodableEvents, to: .undecodable)
        events.add(counts.untransformedEvents, to: .transformerFailed)
    }
}

extension PusherStatistics.Events {
    /// Adds a number to the count of a reason. A reason that never occurred has no entry.
    mutating func add(_ count: Int, to reason: PusherStatistics.DropReason) {
        if count > 0 { dropped[reason, default: 0] += count }
    }
}
