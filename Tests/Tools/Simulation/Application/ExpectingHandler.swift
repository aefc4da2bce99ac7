import NIOConcurrencyHelpers
import PusherClient
import PusherProtocol

/// A callback or a sequence, and its expected events.
struct ExpectingHandler: Sendable {
    struct Expectation: Sendable {
        var number: Int
        /// The event has to arrive. Otherwise it may.
        var isDue: Bool
    }

    enum Stage: Hashable, Sendable {
        case bound
        /// No new event is for it; earlier ones may still be read.
        case finished
        /// No event may arrive.
        case ended
        /// Further events are not checked.
        case dropped
    }

    /// Nil for all.
    let channel: String?
    /// Nil for all.
    let event: String?
    let isSequence: Bool
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

    /// The violation of an arriving event, if there is one.
    ///
    /// - Parameters:
    ///   - isAnnounced: Whether the app has been told that the channel is subscribed.
    ///   - wasHeld: Whether it may have been received before the handler was bound.
    mutating func receive(_ number: Int, on channel: String, isAnnounced: Bool, wasHeld: Bool) -> String? {
        switch stage {
        case .dropped: return nil
        case .ended: return "event \(number) on \(channel) comes to a handler that was removed"
        case .bound, .finished: break
        }
        received.insert(number)
        let lastNumber = last.updateValue(number, forKey: channel) ?? 0
        guard let index = index(of: number, on: channel) else {
            if wasHeld, number > lastNumber || channel.contains("cache-") { return nil }
            return "event \(number) on \(channel) comes twice, out of turn, or from nowhere"
        }
        // If the same event may have arrived before the subscription too, this may be that one.
        let isDue = pending[channel]?.allSatisfy { $0.isDue || $0.number != number } == true
        if isDue, !isAnnounced, !isSequence {
            return "event \(number) comes before it is told that \(channel) is subscribed"
        }
        let passed = pending[channel]?[..<index] ?? []
        let missed = passed.filter(\.isDue).map(\.number)
        // The same event may have arrived before, as one that was allowed.
        pending[channel]?.replaceSubrange(...index, with: passed.filter { $0.number == number })
        return missed.isEmpty ? nil : "event \(number) on \(channel) comes before \(missed)"
    }

    /// The app was told that the event could not be decrypted.
    mutating func unreadable(_ number: Int, on channel: String) {
        guard let index = index(of: number, on: channel) else { return }
        pending[channel]?.remove(at: index)
    }

    /// The list that expects it; a required event has priority over an allowed one.
    private func index(of number: Int, on channel: String) -> Int? {
        let events = pending[channel] ?? []
        return events.firstIndex { $0.number == number && $0.isDue } ?? events.firstIndex { $0.number == number }
    }

    /// The required events that did not arrive. No more of its events are expected.
    ///
    /// - Parameter isMeant: Whether the events of a channel should have arrived by now.
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

    /// Received events are allowed, but not required.
    mutating func relax(_ channel: String?) {
        for name in pending.keys where channel == nil || channel == name {
            pending[name] = pending[name]?.map { Expectation(number: $0.number, isDue: false) }
        }
    }
}

/// The handlers of the app.
extension WireLedger {
    func add(_ handler: ExpectingHandler, id: Int) {
        state.withLockedValue { $0.handlers[id] = handler }
    }

    func received(_ event: PusherEvent, by id: Int) {
        guard let number = EventNumber.read(event.data), let channel = event.channelName else { return }
        let problem = state.withLockedValue { state in
            let mayBeHeld = channel.hasPrefix("private-encrypted-")
            return state.handlers[id]?.receive(
                number,
                on: channel,
                isAnnounced: mayBeHeld || state.announced.contains(channel) || !state.wanted.contains(channel),
                wasHeld: mayBeHeld && state.encrypted.hasReceived(number, on: channel)
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
            // Its events are no longer checked.
            if stage == .dropped { state.handlers[id] = nil }
        }
    }

    func numbersReceived(by id: Int) -> Set<Int> {
        state.withLockedValue { $0.handlers[id]?.received ?? [] }
    }

    func wants(_ channel: String) {
        state.withLockedValue { _ = $0.wanted.insert(channel) }
    }

    /// A scope began after the last one's body had ended, and before the end of its lease. The client keeps the
    /// subscription, and does not announce it again.
    func keptSubscription(to channel: String) { state.withLockedValue { _ = $0.announced.insert(channel) } }

    /// The app has unsubscribed: the channel's callbacks must get no events, and sequences end.
    func unsubscribed(_ channel: String) {
        state.withLockedValue { state in
            state.wanted.remove(channel)
            state.announced.remove(channel)
            state.encrypted.forgetEvents(of: channel)
            state.subscriptions.forgotten(channel)
            for id in state.handlers.keys { state.handlers[id]?.unsubscribed(channel) }
        }
    }

    /// The app has called the client during a delivery. The effect of the rest of that delivery on one or all channels
    /// is undefined.
    func reacted(to channel: String?) {
        state.withLockedValue { state in
            for id in state.handlers.keys { state.handlers[id]?.relax(channel) }
        }
    }

    /// All due work has been done, except events that wait for a key.
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

    /// No event waits for a key any more.
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
            (handlers[id]?.takeMissing(isMeant) ?? []).map { "handler \(id): \($0) never came" }
        }
    }
}
