import PusherProtocol

/// Elements that arrived before their first listener, within a limit. The newest elements stay.
struct HeldElements<Element: Sendable>: Sendable {
    static var maximumCount: Int { 256 }
    /// In bytes.
    static var maximumSize: Int { 1_048_576 }

    private(set) var elements: [Element] = []
    /// The sizes of the elements, in bytes.
    private var sizes: [Int] = []
    private var size = 0
    private(set) var droppedCount = 0

    /// Adds an element. One element always stays, even if it is larger than the limit.
    ///
    /// - Parameter size: The size of the element, in bytes.
    /// - Returns: The oldest elements, which do not fit any more.
    mutating func append(_ element: Element, size: Int) -> [Element] {
        elements.append(element)
        sizes.append(size)
        self.size += size
        var count = 0
        while self.size > Self.maximumSize || elements.count - count > Self.maximumCount, count < elements.count - 1 {
            self.size -= sizes[count]
            count += 1
        }
        guard count > 0 else { return [] }
        let dropped = Array(elements.prefix(count))
        elements.removeFirst(count)
        sizes.removeFirst(count)
        droppedCount += count
        return dropped
    }

    /// Removes and returns the elements that match, in their order.
    mutating func take(where matches: (Element) -> Bool) -> [Element] {
        let (all, allSizes) = (elements, sizes)
        (elements, sizes, size) = ([], [], 0)
        var taken: [Element] = []
        for (element, size) in zip(all, allSizes) {
            if matches(element) {
                taken.append(element)
            } else {
                elements.append(element)
                sizes.append(size)
                self.size += size
            }
        }
        return taken
    }
}

/// The identity of a period in which a channel holds events.
final class HoldingID: Sendable {}

/// The events of a channel that wait for a listener. The events of each name wait for a listener of this name, or for a
/// listener of every event.
struct HeldEvents: Sendable {
    struct Element: Sendable {
        let event: PusherEvent
        /// Whether the event counts as unhandled if the channel gets no listener for it.
        let isUnhandled: Bool
    }

    private var events = HeldElements<Element>()
    /// The number of dropped events, by name. A server can send any number of names, so the number of entries has a
    /// limit.
    private var dropped = WireTable<Int>()
    private var channelName: String?
    /// The names for which listeners were added. Events of these names do not wait, even if the listeners are gone.
    private var served = WireTable<Bool>()
    /// Whether a listener of every event was added.
    private var isEveryNameServed = false
    /// Whether some of the events have a listener now.
    var mustRelease = false
    /// The identity of the period. Nil until the time of the period is limited.
    var id: HoldingID?

    /// Returns whether an event without a listener waits for one.
    func waits(for name: String) -> Bool { !isEveryNameServed && served[name] == nil }

    /// Notes that a listener was added. Nil stands for a listener of every event.
    mutating func serve(_ name: String?) {
        if let name { served[name] = true } else { isEveryNameServed = true }
        if hasEvents(for: name) { mustRelease = true }
    }

    /// Begins a new period. The events stay.
    mutating func reopen() {
        id = nil
        served = [:]
        isEveryNameServed = false
    }

    /// The number of events that nobody got so far.
    var unhandledCount: Int { events.elements.count { $0.isUnhandled } }

    /// Returns the events that do not fit any more.
    mutating func add(_ event: PusherEvent, isHandled: Bool, hasListener: Bool) -> [Element] {
        if hasListener { mustRelease = true }
        let isUnhandled = !isHandled && !EventName.isProtocolEvent(event.eventName)
        let gone = events.append(Element(event: event, isUnhandled: isUnhandled), size: event.size)
        channelName = event.channelName
        for element in gone {
            let name = element.event.eventName
            if dropped[name] != nil || dropped.count < HeldElements<Element>.maximumCount {
                dropped[name, default: 0] += 1
            }
        }
        return gone
    }

    /// Returns whether there are, or were, events for a listener of this name. Nil stands for a listener of every event.
    private func hasEvents(for name: String?) -> Bool {
        guard let name else { return !events.elements.isEmpty || !dropped.isEmpty }
        return dropped[name] != nil || events.elements.contains { $0.event.eventName.hasSameBytes(as: name) }
    }

    /// Removes the events that have a listener now.
    ///
    /// - Returns: The events, and the dropped events for the same listeners.
    mutating func take(_ hasListener: (String) -> Bool) -> Released {
        mustRelease = false
        var count = 0
        for name in Array(dropped.keys) where hasListener(name) { count += dropped.removeValue(forKey: name) ?? 0 }
        let events = events.take { hasListener($0.event.eventName) }.map(\.event)
        return Released(events: events, droppedCount: count, channelName: channelName)
    }

    /// The events that have a listener now.
    struct Released {
        var events: [PusherEvent] = []
        /// The number of dropped events for the same listeners.
        var droppedCount = 0
        var channelName: String?
    }
}
