import PusherProtocol

/// One attempt to connect by the best transport that works.
///
/// The attempt begins with the remembered transport. If there is none, it begins with the preferred transport. If this
/// transport is slow or fails, the next transport starts. The client chooses the first transport on which the server
/// sends a message. If a more preferred transport is already open, the client first waits briefly for a message on that
/// transport.
package struct TransportChoice: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case open(Int, PusherTransport)
        /// Close a candidate at once.
        case abort(Int)
        /// Store the events of a candidate that the attempt may still choose.
        case hold(Int)
        case setTimer(Timer, after: Duration)
        case cancelTimer(Timer)
        /// Connect the candidate to the client, and remember its success after the server's greeting.
        case choose(Int, TransportReport, TransportMemory.Success)
        /// Forget the remembered transport, because it failed, or did not connect within its time limit. In the second
        /// case, the attempt can still choose this transport.
        case forget
        /// No transport connects.
        case fail(TransportClosure)
    }

    package enum Timer: Hashable, Sendable, CaseIterable {
        /// Start the next transport.
        case next
        /// The time limit for the first message on an open preferred transport is over.
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
    private let attemptTimeout: Duration
    private var candidates: [Candidate] = []
    /// The transports that have not started.
    private var waiting: ArraySlice<PusherTransport> = []
    private var count = 0
    private var failures: [PusherTransport: TransportClosure] = [:]
    private var isOver = false

    /// - Parameter attemptTimeout: The time limit of the attempt. Each transport gets at most an equal share before the
    ///   next transport starts.
    package init(_ plan: TransportMemory.Plan, attemptTimeout: Duration) {
        self.plan = plan
        self.attemptTimeout = attemptTimeout
    }

    package mutating func start(now: Instant) -> [Action] {
        let first = plan.remembered?.transport
        waiting = (first.map { [$0] } ?? []) + plan.transports.filter { $0 != first }
        return openNext(now: now)
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
        if isBetterOpen { return [.hold(number), .setTimer(.moment, after: Self.moment)] }
        return choose(now: now)
    }

    package mutating func closed(_ number: Int, _ closure: TransportClosure, now: Instant) -> [Action] {
        guard let index = index(of: number) else { return [] }
        // The candidate's first message may be a refusal, which the client must get. Another candidate with a message
        // has got the same refusal.
        if candidates[index].state == .ready, candidates.count(where: { $0.state == .ready }) == 1 {
            return choose(candidates[index], now: now)
        }
        let candidate = candidates.remove(at: index)
        // The server's answer concerns the app, so every transport would get this answer.
        if let code = closure.code, code.rawValue >= 4000 { return fail(closure) }
        failures[candidate.transport] = closure
        if candidates.contains(where: { $0.state == .ready }) {
            return isBetterOpen ? [] : choose(now: now)
        }
        if !waiting.isEmpty { return [.cancelTimer(.next)] + openNext(now: now) }
        guard candidates.isEmpty else { return [] }
        return fail(allFailed ?? closure)
    }

    package mutating func timerFired(_ timer: Timer, now: Instant) -> [Action] {
        guard !isOver else { return [] }
        switch timer {
        case .next: return openNext(now: now)
        case .moment: return choose(now: now)
        }
    }

    /// Cancels the attempt, because the client no longer needs it.
    package mutating func abort() -> [Action] { end() }

    // MARK: Opening

    private mutating func openNext(now: Instant) -> [Action] {
        guard let transport = waiting.popFirst() else { return [] }
        count += 1
        candidates.append(Candidate(number: count, transport: transport, since: now))
        let remembered = plan.remembered
        var actions: [Action] = remembered != nil && count == 2 ? [.forget] : []
        actions.append(.open(count, transport))
        let patience = (count == 1 ? remembered?.timeout : nil) ?? Self.patience(with: transport)
        let share = attemptTimeout / plan.transports.count
        if !waiting.isEmpty { actions.append(.setTimer(.next, after: min(patience, share))) }
        return actions
    }

    /// Returns the time after which the next transport starts, if this transport has no connection yet.
    private static func patience(with transport: PusherTransport) -> Duration {
        transport == .webSocket ? .seconds(2) : .seconds(4)
    }

    // MARK: Choosing

    private mutating func choose(now: Instant) -> [Action] {
        best(.ready).map { choose($0, now: now) } ?? []
    }

    private mutating func choose(_ chosen: Candidate, now: Instant) -> [Action] {
        candidates.removeAll { $0.number == chosen.number }
        for candidate in candidates { note(candidate, now: now) }
        failures[chosen.transport] = nil
        let success = TransportMemory.Success(
            transport: chosen.transport,
            latency: now - chosen.since,
            failures: failures.mapValues { $0.error ?? .closed($0) }
        )
        var unused = plan.unused
        if let remembered = plan.remembered, remembered.transport == chosen.transport {
            unused.merge(remembered.unused) { $1 }
        }
        unused.merge(success.failures) { $1 }
        return end() + [.choose(chosen.number, TransportReport(chosen.transport, unused: unused), success)]
    }

    /// Notes that the candidate still has no connection.
    private mutating func note(_ candidate: Candidate, now: Instant) {
        let error = PusherClientError.noConnection(
            over: candidate.transport,
            within: now - candidate.since,
            isOpen: candidate.state != .connecting
        )
        failures[candidate.transport] = TransportClosure(code: nil, error: error)
    }

    /// The failure of the preferred transport, with the failures of the other transports.
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

    /// Whether a candidate without a message is better than all candidates with a message.
    private var isBetterOpen: Bool {
        guard let open = best(.open), let ready = best(.ready) else { return false }
        return isBetter(open, than: ready)
    }

    private func best(_ state: State) -> Candidate? {
        candidates.filter { $0.state == state }.min { isBetter($0, than: $1) }
    }

    private func index(of number: Int) -> Int? { candidates.firstIndex { $0.number == number } }

    private func isBetter(_ one: Candidate, than other: Candidate) -> Bool {
        let order = plan.transports
        return order.firstIndex(of: one.transport) ?? order.count < order.firstIndex(of: other.transport) ?? order.count
    }
}
