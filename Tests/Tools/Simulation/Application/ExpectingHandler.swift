import NIOConcurrencyHelpers
import PusherClient
import PusherProtocol

/// A callback or a sequence, and its expected events.
struct ExpectingHandler: Sendable {
    struct Expectation: Sendable {
        var number: Int
        /// Whether the event must arrive. If false, the event may arrive.
        var isDue: Bool
    }

    enum Stage: Hashable, Sendable {
        case bound
        /// The handler gets no new events, but may still read earlier events.
        case finished
        /// The handler may get no events.
        case ended
        /// The handler's further events are not checked.
        case dropped
    }

    /// The channel of the events; nil for all channels.
    let channel: String?
    /// The name of the events; nil for all names.
    let event: String?
    let isSequence: Bool
    /// The events that the channel may hold for its first listener.
    var held: Set<Int> = []
    var stage = Stage.bound
    private var pending: [String: [Expectation]] = [:]
    /// The last number that arrived on each channel.
    private var last: [String: Int] = [:]
    private(set) var received: Set<Int> = []

    init(channel: String?, event: String?, isSequence: Bool) {
        self.channel = channel
        self.event = event
        self.isSequence = isSequence
    }

    func wants(_ event: String, on channel: String) -> Bool {
        stage == .bound && (self.event == nil || self.event == event)
            && (self.channel == nil || self.channel == channel)
    }

    mutating func expect(_ number: Int, on channel: String, isDue: Bool) {
        pending[channel, default: []].append(Expectation(number: number, isDue: isDue))
    }

    /// Records an event that has arrived. Returns the violation, if there is one.
    ///
    /// - Parameters:
    ///   - isAnnounced: Whether the client has reported the channel as subscribed.
    ///   - wasHeld: Whether the client may have received the event before the handler was bound.
    mutating func receive(_ number: Int, on channel: String, isAnnounced: Bool, wasHeld: Bool) -> String? {
        switch stage {
        case .dropped: return nil
        case .ended: return "event \(number) on \(channel) arrives at a removed handler"
        case .bound, .finished: break
        }
        received.insert(number)
        let lastNumber = last.updateValue(number, forKey: channel) ?? 0
        guard let index = index(of: number, on: channel) else {
            if wasHeld, number > lastNumber || channel.contains("cache-") { return nil }
            return "event \(number) on \(channel) arrives twice, out of order, or unexpectedly"
        }
        // If the event is also expected as an allowed event, it may belong to the time before the subscription.
        let isDue = pending[channel]?.allSatisfy { $0.isDue || $0.number != number } == true
        if isDue, !isAnnounced, !isSequence {
            return "event \(number) arrives before \(channel) is reported as subscribed"
        }
        let passed = pending[channel]?[..<index] ?? []
        let missed = passed.filter(\.isDue).map(\.number)
        // An allowed event with the same number may still follow.
        pending[channel]?.replaceSubrange(...index, with: passed.filter { $0.number == number })
        return missed.isEmpty ? nil : "event \(number) on \(channel) arrives before \(missed)"
    }

    /// Stops expecting an event that the client has reported as undecryptable.
    mutating func unreadable(_ number: Int, on channel: String) {
        guard let index = index(of: number, on: channel) else { return }
        pending[channel]?.remove(at: index)
    }

    /// Returns the index of the expected event. A required event has priority over an allowed event.
    private func index(of number: Int, on channel: String) -> Int? {
        let events = pending[channel] ?? []
        return events.firstIndex { $0.number == number && $0.isDue } ?? events.firstIndex { $0.number == number }
    }

    /// Returns the required events that did not arrive. Afterwards, the handler no longer expects these events.
    ///
    /// - Parameter isMeant: Whether a channel's events should have arrived by now.
    mutating func takeMissing(_ isMeant: (String) -> Bool) -> [String] {
        var missing: [String] = []
        for (channel, events) in pending where isMeant(channel) {
            pending[channel] = nil
            guard stage == .bound else { continue }
            missing += events.filter(\.isDue).map { "event \($0.number) on \(channel)" }
        }
        return missing.sorted()
    }

    mutating func unsubscribed(_ channel: String) {
        relax(channel)
        if self.channel == channel, stage == .bound { stage = isSequence ? .finished : .ended }
    }

    /// Allows the expected events of a channel, or of all channels, to be missing.
    mutating func relax(_ channel: String?) {
        for name in pending.keys where channel == nil || channel == name {
            pending[name] = pending[name]?.map { Expectation(number: $0.number, isDue: false) }
        }
    }
}

/// Records the handlers of the app, their events, and the calls of the app.
extension WireLedger {
    func add(_ handler: ExpectingHandler, id: Int) {
        state.withLockedValue { state in
            var handler = handler
            if let channel = handler.channel { handler.held = state.arrived[channel] ?? [] }
            state.handlers[id] = handler
        }
    }

    func received(_ event: PusherEvent, by id: Int) {
        guard let number = EventNumber.read(event.data), let channel = event.channelName else { return }
        let problem = state.withLockedValue { state in
            let mayBeHeld = channel.hasPrefix("private-encrypted-")
            let mayHaveWaited =
                mayBeHeld
                ? state.encrypted.hasReceived(number, on: channel)
                : state.handlers[id]?.held.contains(number) == true
            return state.handlers[id]?.receive(
                number,
                on: channel,
                isAnnounced: mayBeHeld || state.announced.contains(channel) || !state.wanted.contains(channel),
                wasHeld: mayHaveWaited
            )
        }
        if let problem { violations.add("handler \(id): \(problem)") }
    }

    func unreadable(_ data: String?, on channel: String) {
        state.withLockedValue { state in
            guard let data, let number = state.encrypted.number(.string(data), on: channel) else { return }
            for id in state.handlers.keys { state.handlers[id]?.unreadable(number, on: channel) }
        }
    }

    func setStage(_ stage: ExpectingHandler.Stage, of id: Int) {
        state.withLockedValue { state in
            state.handlers[id]?.stage = stage
            // The events of a dropped handler are not checked any more.
            if stage == .dropped { state.handlers[id] = nil }
        }
    }

    func numbersReceived(by id: Int) -> Set<Int> {
        state.withLockedValue { $0.handlers[id]?.received ?? [] }
    }

    func wants(_ channel: String) {
        state.withLockedValue { _ = $0.wanted.insert(channel) }
    }

    /// Records a channel as subscribed for a new scope that began before the last lease ended. The client keeps such a
    /// subscription, and does not report it again.
    func keptSubscription(to channel: String) { state.withLockedValue { _ = $0.announced.insert(channel) } }

    /// Records an unsubscribe by the app. The channel's callbacks must get no more events, and the channel's sequences
    /// must end.
    func unsubscribed(_ channel: String) {
        state.withLockedValue { state in
            state.wanted.remove(channel)
            state.announced.remove(channel)
            state.encrypted.forgetEvents(of: channel)
            state.arrived[channel] = nil
            state.subscriptions.forgotten(channel)
            for id in state.handlers.keys { state.handlers[id]?.unsubscribed(channel) }
        }
    }

    /// Records a call of the app during a delivery. The rest of the delivery on this channel, or on all channels, is
    /// undefined.
    func reacted(to channel: String?) {
        state.withLockedValue { state in
            for id in state.handlers.keys { state.handlers[id]?.relax(channel) }
        }
    }

    /// Checks that all required events have arrived, except events that wait for a key. Call this method after all due
    /// work.
    func settled() {
        let missing = state.withLockedValue { state in
            state.pacing.settled()
            state.isDisturbed = false
            state.encrypted.settled()
            defer { state.expecting = [] }
            return state.takeMissing(state.expecting.sorted()) { !$0.hasPrefix("private-encrypted-") }
        }
        for text in missing { violations.add(text) }
    }

    /// Checks the events of encrypted channels. No event waits for a key any more.
    func checkEncrypted() {
        let missing = state.withLockedValue { state in
            state.takeMissing(state.handlers.keys.sorted()) { $0.hasPrefix("private-encrypted-") }
        }
        for text in missing { violations.add(text) }
    }
}

extension WireLedger.State {
    fileprivate mutating func takeMissing(_ ids: [Int], _ isMeant: (String) -> Bool) -> [String] {
        ids.flatMap { id in
            (handlers[id]?.takeMissing(isMeant) ?? []).map { "handler \(id): \($0) did not arrive" }
        }
    }
}
