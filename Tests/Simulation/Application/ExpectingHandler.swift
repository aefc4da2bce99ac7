import NIOConcurrencyHelpers

/// A callback or a sequence, and what has to come to it.
struct ExpectingHandler: Sendable {
    struct Expectation: Sendable {
        var number: Int
        /// It has to come. Otherwise it may.
        var isDue: Bool
    }

    enum Stage: Hashable, Sendable {
        case bound
        /// Nothing new is for it; what came before may still be read.
        case finished
        /// Nothing may come to it.
        case ended
        /// Nobody looks at what still comes.
        case dropped
    }

    /// Nil for all.
    let channel: String?
    /// Nil for all.
    let event: String?
    let isSequence: Bool
    var stage = Stage.bound
    private var pending: [String: [Expectation]] = [:]
    /// Events of encrypted channels: how many have come, and the number of the last one.
    private var encrypted: [String: (count: Int, last: Int)] = [:]
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

    /// What is wrong with an event that comes, if something is.
    ///
    /// - Parameter encryptedCount: How many events of the channel were received, where it is encrypted: they may be
    ///   held back for their key, and so come to handlers that were bound after they had been received.
    mutating func receive(_ number: Int, on channel: String, encryptedCount: Int?, isCached: Bool) -> String? {
        switch stage {
        case .dropped: return nil
        case .ended: return "event \(number) on \(channel) comes to a handler that was removed"
        case .bound, .finished: break
        }
        received.insert(number)
        if let encryptedCount { return receiveEncrypted(number, on: channel, of: encryptedCount, isCached: isCached) }
        guard let index = pending[channel]?.firstIndex(where: { $0.number == number }) else {
            return "event \(number) on \(channel) comes twice, out of turn, or from nowhere"
        }
        let missed = pending[channel]?[..<index].filter(\.isDue).map(\.number) ?? []
        pending[channel]?.removeFirst(index + 1)
        return missed.isEmpty ? nil : "event \(number) on \(channel) comes before \(missed)"
    }

    private mutating func receiveEncrypted(
        _ number: Int,
        on channel: String,
        of maximum: Int,
        isCached: Bool
    ) -> String? {
        let (count, last) = encrypted[channel, default: (0, 0)]
        encrypted[channel] = (count + 1, max(last, number))
        if count >= maximum { return "event \(number) on \(channel) comes more often than it was received" }
        if number <= last, !isCached { return "event \(number) on \(channel) comes after \(last)" }
        return nil
    }

    /// What should have come and did not. Nothing is expected any more.
    mutating func takeMissing() -> [String] {
        defer { pending = [:] }
        guard stage == .bound else { return [] }
        return pending.flatMap { channel, events in
            events.filter(\.isDue).map { "event \($0.number) on \(channel)" }
        }.sorted()
    }

    mutating func unsubscribed(_ channel: String) {
        relax(channel)
        if self.channel == channel, stage == .bound { stage = isSequence ? .finished : .ended }
    }

    /// What was received may come, and need not.
    mutating func relax(_ channel: String?) {
        for name in pending.keys where channel == nil || channel == name {
            pending[name] = pending[name]?.map { Expectation(number: $0.number, isDue: false) }
        }
    }
}

/// The handlers of the application.
extension WireLedger {
    func add(_ handler: ExpectingHandler, id: Int) {
        state.withLockedValue { $0.handlers[id] = handler }
    }

    func received(_ number: Int?, on channel: String?, by id: Int) {
        guard let number, let channel else { return }
        let isEncrypted = channel.hasPrefix("private-encrypted-")
        let problem = state.withLockedValue { state in
            state.handlers[id]?.receive(
                number,
                on: channel,
                encryptedCount: isEncrypted ? state.encryptedCounts[channel, default: 0] : nil,
                isCached: channel.contains("cache-")
            )
        }
        if let problem { violations.add("handler \(id): \(problem)") }
    }

    func setStage(_ stage: ExpectingHandler.Stage, of id: Int) {
        state.withLockedValue { state in
            state.handlers[id]?.stage = stage
            // Nothing that comes to it is looked at any more.
            if stage == .dropped { state.handlers[id] = nil }
        }
    }

    func numbersReceived(by id: Int) -> Set<Int> {
        state.withLockedValue { $0.handlers[id]?.received ?? [] }
    }

    func wants(_ channel: String) {
        state.withLockedValue { _ = $0.wanted.insert(channel) }
    }

    /// The application has unsubscribed: nothing may come to what was bound on the channel, and sequences end.
    func unsubscribed(_ channel: String) {
        state.withLockedValue { state in
            state.wanted.remove(channel)
            state.accounts.forgetEncrypted(on: channel)
            state.confirmed.remove(channel)
            state.confirmedInRead.remove(channel)
            for id in state.handlers.keys {
                state.handlers[id]?.unsubscribed(channel)
            }
        }
    }

    /// The application has called the client from within a delivery: what the rest of that does is left open.
    func reacted() {
        state.withLockedValue { state in
            for id in state.handlers.keys { state.handlers[id]?.relax(nil) }
        }
    }

    /// Everything has happened that was due.
    func settled() {
        let missing = state.withLockedValue { state in
            defer { state.expecting = [] }
            return state.expecting.sorted().flatMap { id in
                (state.handlers[id]?.takeMissing() ?? []).map { "handler \(id): \($0) never came" }
            }
        }
        for text in missing { violations.add(text) }
    }
}
