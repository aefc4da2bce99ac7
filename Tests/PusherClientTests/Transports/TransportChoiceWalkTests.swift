import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// An attempt with random events of its candidates, and a model of the candidates and timers.
private struct ChoiceWalk {
    private enum State {
        case connecting, open, ready
    }

    private typealias Candidate = (transport: PusherTransport, state: State)

    private static let transports = PusherTransport.allCases

    private var choice: TransportChoice
    private var generator: SeededGenerator
    private var now = Instant()
    private var candidates: [Int: Candidate] = [:]
    private var closedCandidate: Int?
    private var opened: Set<PusherTransport> = []
    private var timers: Set<TransportChoice.Timer> = []
    private(set) var outcomes: [String] = []
    private(set) var failures: [String] = []

    init(seed: UInt64) {
        generator = SeededGenerator(seed: seed)
        var plan = TransportMemory.Plan(Self.transports)
        if generator.oneIn(2), let transport = Self.transports.randomElement(using: &generator) {
            plan.remembered = .init(transport, timeout: .seconds(2))
        }
        choice = TransportChoice(plan, attemptTimeout: .seconds(15))
        carryOut(choice.start(now: now))
    }

    var isOver: Bool { !outcomes.isEmpty }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...400, using: &generator))
        carryOut(randomInput())
        // The choice can still choose the candidate whose end was the event.
        if let closedCandidate { candidates[closedCandidate] = nil }
        closedCandidate = nil
        if isOver {
            expect(candidates.isEmpty && timers.isEmpty, "the end leaves candidates or timers")
        } else {
            expect(!candidates.isEmpty, "no candidate is left, and no transport follows")
            expect(opened.count == Self.transports.count || timers.contains(.next), "the next transport never starts")
            let isReady = candidates.values.contains { $0.state == .ready }
            expect(!isReady || timers.contains(.moment), "a candidate with a message waits without a time limit")
        }
    }

    /// Checks that a finished attempt handles no more inputs.
    mutating func checkEnd() {
        let count = outcomes.count
        for number in 1...3 {
            carryOut(choice.opened(number) + choice.ready(number, now: now))
            carryOut(choice.closed(number, TransportClosure(code: nil), now: now))
        }
        for timer in TransportChoice.Timer.allCases { carryOut(choice.timerFired(timer, now: now)) }
        carryOut(choice.abort())
        expect(outcomes.count == count && count == 1 && candidates.isEmpty, "an input after the end has an effect")
    }

    private mutating func expect(_ condition: Bool, _ failure: String) {
        if !condition { failures.append(failure) }
    }

    private mutating func randomInput() -> [TransportChoice.Action] {
        guard let number = candidates.keys.sorted().randomElement(using: &generator) else { return [] }
        switch Int.random(in: 0..<40, using: &generator) {
        case 0..<10:
            guard candidates[number]?.state == .connecting else { return [] }
            candidates[number]?.state = .open
            return choice.opened(number)
        case 10..<14:
            guard candidates[number]?.state != .connecting else { return [] }
            candidates[number]?.state = .ready
            return choice.ready(number, now: now)
        case 14..<18:
            let code: CloseCode? = generator.oneIn(6) ? 4001 : nil
            closedCandidate = number
            return choice.closed(number, TransportClosure(code: code), now: now)
        case 18..<19:
            guard generator.oneIn(4) else { return [] }
            outcomes.append("abort")
            return choice.abort()
        default:
            guard let timer = timers.min(by: { "\($0)" < "\($1)" }), generator.oneIn(4) else { return [] }
            timers.remove(timer)
            return choice.timerFired(timer, now: now)
        }
    }

    private mutating func carryOut(_ actions: [TransportChoice.Action]) {
        for action in actions {
            switch action {
            case .open(let number, let transport):
                expect(opened.insert(transport).inserted && candidates[number] == nil, "a transport starts twice")
                candidates[number] = (transport, .connecting)
            case .abort(let number):
                expect(candidates.removeValue(forKey: number) != nil, "the attempt aborts a closed candidate")
            case .hold(let number): expect(candidates[number]?.state == .ready, "the attempt holds another candidate")
            case .setTimer(let timer, _): timers.insert(timer)
            case .cancelTimer(let timer): timers.remove(timer)
            case .choose(let number, let report, _):
                let chosen = candidates.removeValue(forKey: number)
                expect(chosen?.state == .ready, "the attempt chooses a candidate without a message")
                expect(chosen?.transport == report.transport, "the report names another transport")
                outcomes.append("choose \(report.transport)")
            case .forget: break
            case .fail: outcomes.append("fail")
            }
        }
    }
}

@Suite("The choice of a transport, with random events", .limited)
struct TransportChoiceWalkTests {
    @Test("no order of events breaks a rule of the choice")
    func walk() {
        var outcomes: Set<String> = []
        for seed in UInt64(1)...3_000 {
            var walk = ChoiceWalk(seed: seed)
            var steps = 0
            while !walk.isOver, walk.failures.isEmpty, steps < 10_000 {
                walk.step()
                steps += 1
            }
            if walk.isOver { walk.checkEnd() }
            outcomes.formUnion(walk.outcomes)
            guard walk.failures.isEmpty, walk.isOver else {
                Issue.record("seed \(seed), step \(steps): \(walk.failures)")
                return
            }
        }
        #expect(outcomes == Set(PusherTransport.allCases.map { "choose \($0)" } + ["fail", "abort"]))
    }
}
