import PusherProtocol

/// One attempt to connect by the best transport that works.
///
/// The attempt begins with the preferred transport. Others join it if it takes long or fails. The first transport whose
/// server sends a message is chosen. If a preferred one is open by then, it gets a moment for its first message.
package struct TransportChoice: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case open(Int, PusherTransport)
        /// End a candidate at once.
        case abort(Int)
        /// Keep the events of a candidate. It may still be chosen.
        case hold(Int)
        case setTimer(Timer, after: Duration)
        case cancelTimer(Timer)
        /// Connect the candidate to the client, and remember its success after the server's greeting.
        case choose(Int, TransportReport, TransportMemory.Success)
        /// Forget the remembered transport, because it did not connect.
        case forget
        /// No transport connects.
        case fail(TransportClosure)
    }

    package enum Timer: Hashable, Sendable, CaseIterable {
        /// Start the next transport.
        case next
        /// The time of the remembered transport is over.
        case remembered
        /// The time of an open preferred transport is over.
        case moment
    }

    private enum State: Hashable, Sendable {
        case connecting
        case open
        /// The server has sent a message.
        case ready
    }

    private struct Candidate: Hashable, Sendable {
        let number: Int
        let transport: PusherTransport
        let since: Instant
        var state = State.connecting
    }

    static let moment = Duration.milliseconds(500)

    private let plan: TransportMemory.Plan
    private var candidates: [Candidate] = []
    /// The transports that have not started.
    private var waiting: ArraySlice<PusherTransport> = []
    private var isRemembering = false
    private var count = 0
    private var failures: [PusherTransport: TransportClosure] = [:]
    private var isOver = false

    package init(_ plan: TransportMemory.Plan) { self.plan = plan }

    package mutating func start(now: Instant) -> [Action] {
        guard let remembered = plan.remembered else { return startAll(now: now) }
        isRemembering = true
        return open(remembered.transport, now: now) + [.setTimer(.remembered, after: remembered.timeout)]
    }

    // MARK: The candidates

    package mutating func opened(_ number: Int) -> [Action] {
        guard let index = index(of: number) else { return [] }
        candidates[index].state = .open
        return []
    }

    /// Handles the first message of a candidate.
    package mutating func ready(_ number: Int, now: Instant) -> [Action] {
        guard let index = index(of: number), candidates[index].state != .ready else { return [] }
        candidates[index].state = .ready
        let isBetterOpen = candidates.contains { $0.state == .open && isBetter($0, than: candidates[index]) }
        if isBetterOpen { return [.hold(number), .setTimer(.moment, after: Self.moment)] }
        return choose(now: now)
    }

    package mutating func closed(_ number: Int, _ closure: TransportClosure, now: Instant) -> [Action] {
        guard let index = index(of: number) else { return [] }
        let candidate = candidates.remove(at: index)
        // The server's answer concerns the app, so it would be the same by every transport.
        if let code = closure.code, code.rawValue >= 4000 { return fail(closure) }
        failures[candidate.transport] = closure
        if isRemembering { return endRemembering(now: now) }
        if candidates.contains(where: { $0.state == .ready }) {
            return candidates.contains { $0.state == .open } ? [] : choose(now: now)
        }
        if !waiting.isEmpty { return [.cancelTimer(.next)] + openNext(now: now) }
        guard candidates.isEmpty else { return [] }
        return fail(allFailed ?? closure)
    }

    package mutating func timerFired(_ timer: Timer, now: Instant) -> [Action] {
        guard !isOver else { return [] }
        switch timer {
        case .next: return openNext(now: now)
        case .remembered:
            guard isRemembering else { return [] }
            if candidates.first?.transport == plan.transports.first {
                isRemembering = false
                waiting = plan.transports.dropFirst()
                return [.forget] + openNext(now: now)
            }
            for candidate in candidates { note(candidate, now: now) }
            return endRemembering(now: now)
        case .moment: return choose(now: now)
        }
    }

    /// Ends the attempt, because the client no longer needs it.
    package mutating func abort() -> [Action] { end() }

    // MARK: Opening

    private mutating func startAll(now: Instant) -> [Action] {
        waiting = plan.transports[...]
        return openNext(now: now)
    }

    private mutating func openNext(now: Instant) -> [Action] {
        guard let transport = waiting.popFirst() else { return [] }
        var actions = open(transport, now: now)
        if !waiting.isEmpty { actions.append(.setTimer(.next, after: Self.patience(with: transport))) }
        return actions
    }

    private mutating func open(_ transport: PusherTransport, now: Instant) -> [Action] {
        count += 1
        candidates.append(Candidate(number: count, transport: transport, since: now))
        return [.open(count, transport)]
    }

    /// How long a transport is tried before another one joins it.
    private static func patience(with transport: PusherTransport) -> Duration {
        transport == .webSocket ? .seconds(2) : .seconds(4)
    }

    private mutating func endRemembering(now: Instant) -> [Action] {
        isRemembering = false
        var actions: [Action] = [.cancelTimer(.remembered), .forget]
        actions += candidates.map { .abort($0.number) }
        candidates = []
        return actions + startAll(now: now)
    }

    // MARK: Choosing

    private mutating func choose(now: Instant) -> [Action] {
        let ready = candidates.filter { $0.state == .ready }
        guard let chosen = ready.min(by: { isBetter($0, than: $1) }) else { return [] }
        candidates.removeAll { $0.number == chosen.number }
        for candidate in candidates { note(candidate, now: now) }
        failures[chosen.transport] = nil
        let success = TransportMemory.Success(
            transport: chosen.transport,
            latency: now - chosen.since,
            failures: failures.mapValues { $0.error ?? .closed($0) }
        )
        var unused = plan.unused
        if isRemembering, let remembered = plan.remembered { unused.merge(remembered.unused) { $1 } }
        unused.merge(success.failures) { $1 }
        return end() + [.choose(chosen.number, TransportReport(chosen.transport, unused: unused), success)]
    }

    /// Notes that the candidate has no connection by now.
    private mutating func note(_ candidate: Candidate, now: Instant) {
        let error = PusherClientError.noConnection(over: candidate.transport, within: now - candidate.since)
        failures[candidate.transport] = TransportClosure(code: nil, error: error)
    }

    /// The failure of the preferred transport, with the reasons of the others.
    private var allFailed: TransportClosure? {
        var closures = plan.transports.compactMap { transport in failures[transport].map { (transport, $0) } }
        guard closures.count > 1 else { return closures.first?.1 }
        var (_, closure) = closures.removeFirst()
        closure.error = .noTransport(
            closure.error ?? .closed(closure),
            others: closures.map { ($0, $1.error ?? .closed($1)) }
        )
        return closure
    }

    private mutating func fail(_ closure: TransportClosure) -> [Action] { end() + [.fail(closure)] }

    private mutating func end() -> [Action] {
        guard !isOver else { return [] }
        isOver = true
        defer { (candidates, waiting) = ([], []) }
        return candidates.map { .abort($0.number) } + Timer.allCases.map { .cancelTimer($0) }
    }

    private func index(of number: Int) -> Int? { candidates.firstIndex { $0.number == number } }

    private func isBetter(_ one: Candidate, than other: Candidate) -> Bool {
        let order = plan.transports
        return order.firstIndex(of: one.transport) ?? order.count < order.firstIndex(of: other.transport) ?? order.count
    }
}
