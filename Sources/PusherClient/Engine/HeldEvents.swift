import NIOConcurrencyHelpers
import PusherProtocol

/// Elements that wait for their first listener, within a limit. The newest elements stay.
struct HeldElements<Element: Sendable>: Sendable {
    static var maximumCount: Int { 256 }
    static var maximumSize: Int { 1_048_576 }

    private(set) var elements: [Element] = []
    private var size = 0
    private(set) var droppedCount = 0

    /// Adds an element. One element always stays, even if it is larger than the limit.
    ///
    /// - Parameter size: Returns the size of an element, in bytes.
    /// - Returns: The oldest elements, which do not fit any more.
    mutating func append(_ element: Element, size sizeOf: (Element) -> Int) -> [Element] {
        elements.append(element)
        size += sizeOf(element)
        var count = 0
        while size > Self.maximumSize || elements.count - count > Self.maximumCount, count < elements.count - 1 {
            size -= sizeOf(elements[count])
            count += 1
        }
        guard count > 0 else { return [] }
        droppedCount += count
        defer { elements.removeFirst(count) }
        return Array(elements.prefix(count))
    }

    /// Removes and returns the elements that match, in their order.
    mutating func take(size sizeOf: (Element) -> Int, where matches: (Element) -> Bool) -> [Element] {
        let taken = elements.filter(matches)
        guard !taken.isEmpty else { return [] }
        elements.removeAll(where: matches)
        size -= taken.reduce(0) { $0 + sizeOf($1) }
        return taken
    }
}

/// The events of a channel that wait for a listener. The events of each name wait for a listener of this name, or for a
/// listener of every event. Events of the protocol wait only for a listener of their name: a listener of every event that
/// is made after the subscription does not expect the event for the subscription, and can read the channel's state.
struct HeldEvents: Sendable {
    struct Element: Sendable {
        let event: PusherEvent
        /// Whether the event counts as unhandled if the channel gets no listener for it.
        let isUnhandled: Bool
    }

    /// The events for a new listener.
    struct Released {
        var events: [PusherEvent] = []
        /// The epoch of the events.
        var epoch = CallbackEpochs.Epoch()
        /// The number of events for the same listener that did not fit.
        var droppedCount = 0
        var channelName: String?
    }

    private var events = HeldElements<Element>()
    private var epoch = CallbackEpochs.Epoch()
    private var channelName: String?
    /// The number of dropped events, by name. A server can send any number of names of any length, so the number of
    /// entries and the size of names have limits.
    private var dropped = WireTable<Int>()
    /// The time at which the channel stops holding events; nil if the server has not answered the subscription yet.
    var end: Instant?

    /// The events that nobody got so far.
    var unhandled: [PusherEvent] { events.elements.filter(\.isUnhandled).map(\.event) }

    /// - Parameter epoch: The epoch of the event. All events belong to one epoch, because the client drops
    ///   them when the app ends the connection.
    /// - Returns: The events that do not fit any more.
    mutating func add(_ event: PusherEvent, isHandled: Bool, epoch: CallbackEpochs.Epoch) -> [Element] {
        self.epoch = epoch
        channelName = event.channelName
        let isUnhandled = !isHandled && !EventName.isProtocolEvent(event.eventName)
        let gone = events.append(Element(event: event, isUnhandled: isUnhandled)) { $0.event.size }
        for element in gone {
            let name = element.event.eventName
            guard name.utf8.count <= EventName.maximumLength else { continue }
            if dropped[name] != nil || dropped.count < HeldElements<Element>.maximumCount {
                dropped[name, default: 0] += 1
            }
        }
        return gone
    }

    /// Removes the events for a new listener.
    ///
    /// - Parameter name: The name of the listener's events; nil for every event.
    mutating func take(_ name: String?) -> Released {
        var released = Released(epoch: epoch, channelName: channelName)
        func isMeant(_ eventName: String) -> Bool {
            name.map { eventName.hasSameBytes(as: $0) } ?? !EventName.isProtocolEvent(eventName)
        }
        released.events = events.take(size: { $0.event.size }, where: { isMeant($0.event.eventName) }).map(\.event)
        for name in Array(dropped.keys) where isMeant(name) {
            released.droppedCount += dropped.removeValue(forKey: name) ?? 0
        }
        return released
    }
}

/// The events that waited for a callback. They reach the callback before later events.
final class HeldCalls: Sendable {
    private let events: NIOLockedValueBox<[PusherEvent]>
    private let epoch: CallbackEpochs.Epoch
    private let epochs: CallbackEpochs
    let changes: ChangeCount

    init(_ released: HeldEvents.Released, _ context: ListenerContext) {
        // The order is reversed, so that removing the first event moves no others.
        events = NIOLockedValueBox(released.events.reversed())
        epoch = released.epoch
        epochs = context.epochs
        changes = context.changes
    }

    /// Removes and returns the first event; nil if there are no more events to call the callback with.
    func next() -> PusherEvent? {
        let isLatest = epochs.isLatest(epoch)
        var outdated: [PusherEvent] = []
        return events.withLockedValue { events in
            if !isLatest { swap(&events, &outdated) }
            return events.popLast()
        }
    }
}
