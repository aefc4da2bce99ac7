import PusherClient
import PusherProtocol
import TestSupport

/// Gives a machine one input after the other, drawn at random, and asks the ledger after each.
struct RandomWalk {
    private let seed: UInt64
    private var generator: SeededGenerator
    private var machine: ClientStateMachine
    private var ledger = Ledger()
    private var now = ContinuousClock.now
    private var loopTime = Duration.zero
    private var inputCount = 0
    /// Put into words only when something was wrong.
    private var lastInputs: [() -> String] = []
    private var violations: [String] = []
    private(set) var connectionCount = 0

    private static let names = ["a", "ab", "a-b", "no good", "private-a"]
    private static let codes: [Int?] = [nil, 1000, 1006, 4000, 4001, 4009, 4100, 4200, 4201, 4301]

    init(seed: UInt64) {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        let request = TransportRequest(host: "h", port: 80, useTLS: seed.isMultiple(of: 2), path: "/app/key")
        var configuration = CoreConfiguration(endpoint: .success(request))
        configuration.maximumRetries = seed.isMultiple(of: 3) ? 4 : nil
        configuration.autoReconnect = !seed.isMultiple(of: 5)
        machine = ClientStateMachine(configuration: configuration)
    }

    var attemptCount: Int { ledger.attempts.count }

    /// What was wrong, the seed that brings it again, and what came before; nil where nothing was.
    var failure: String? {
        guard !violations.isEmpty else { return nil }
        return """
            \(violations.joined(separator: "; "))
            seed \(seed), input \(inputCount), in \(machine.connectionState); the last inputs:
            \(lastInputs.map { $0() }.joined(separator: "\n"))
            """
    }

    // MARK: Steps

    mutating func step() {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<5: input("connect") { $0.connect(now: $1, into: &$2) }
        case 5..<7: input("disconnect") { $0.disconnect(now: $1, into: &$2) }
        case 7..<17: subscribe(draw(Self.names))
        case 17..<23: unsubscribe(draw(Self.names))
        case 23..<33: open()
        case 33..<43: receive(Envelope.greeting(inputCount, activityTimeout: draw(["120", "1", nil, "\"x\""])))
        case 43..<55: receive(.success(draw(Self.names)))
        case 55..<60: receive(message())
        case 60..<63: close()
        case 63..<70: fireTimer()
        case 70..<86: decide()
        case 86..<92: pass(.milliseconds(Int.random(in: 0..<40_000, using: &generator)))
        case 92..<93: now += .seconds(Int.random(in: 0..<600, using: &generator))
        default: wait()
        }
    }

    /// The application drops the client, and the socket ends.
    mutating func end() {
        input("release") { $0.release(now: $1, into: &$2) }
        if let attempt = ledger.liveAttempt { close(attempt, code: 1000) }
        let ledger = ledger
        check(ledger.waiters.isEmpty, "\(ledger.waiters.count) calls wait for ever")
        check(ledger.timers.isEmpty, "the timers \(ledger.timers.keys.map(\.purpose)) are left")
        check(ledger.liveAttempt == nil, "a socket is left")
        check(machine.subscriptions.isEmpty, "channels are left")
    }

    private mutating func subscribe(_ name: String) {
        input("subscribe \(name)") { _ = $0.subscribe(name, now: $1, into: &$2) }
    }

    private mutating func unsubscribe(_ name: String) {
        input("unsubscribe \(name)") { $0.unsubscribe(name, now: $1, into: &$2) }
    }

    private mutating func open() {
        let attempt = anyAttempt()
        input("opened \(attempt)") { $0.opened(attempt, now: $1, into: &$2) }
        if !generator.oneIn(4) { receive(.greeting(inputCount)) }
    }

    private mutating func message() -> Envelope {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: .error(draw(Self.codes), draw(["no", "no a", "no a-b", "Existing subscription to channel a"]))
        case 1: .refusal(draw(Self.names))
        case 2: .ping
        case 3: .pong
        case 4: .message(draw(Self.names))
        case 5:
            Envelope(
                event: EventName.subscriptionCountInternal,
                channel: "a",
                data: .json(#"{"subscription_count":1}"#)
            )
        case 6: Envelope(event: EventName.connectionEstablished)
        default: Envelope(event: "pusher_internal:new", channel: draw(Self.names))
        }
    }

    private mutating func receive(_ envelope: Envelope) {
        let attempt = anyAttempt()
        let pending = machine.subscriptions.values.filter(\.isPending).map(\.name)
        input("received \(envelope.jsonText) on \(attempt)") {
            $0.received(envelope, on: attempt, now: $1, into: &$2)
        } noting: { machine, ledger in
            // What the machine takes for an answer: it is pending no more.
            for name in pending where machine.subscriptions[name]?.isPending != true { ledger.answered(name) }
        }
    }

    private mutating func close() { close(anyAttempt(), code: draw(Self.codes)) }

    private mutating func close(_ attempt: AttemptID, code: Int?) {
        ledger.socketEnded(attempt)
        let closure = TransportClosure(code: code.map { CloseCode(rawValue: $0) })
        input("closed \(attempt) \(closure)") { $0.closed(attempt, closure, now: $1, into: &$2) }
    }

    /// One that is due, one that is not, or one that never was.
    private mutating func fireTimer() {
        let timers = ledger.timers.keys.sorted { $0.serial < $1.serial }
        let timer = timers.randomElement(using: &generator) ?? TimerID(.retry, 1 << 60)
        fire(generator.oneIn(10) ? TimerID(timer.purpose, timer.serial + 1_000_000) : timer)
    }

    private mutating func fire(_ timer: TimerID) {
        ledger.fired(timer)
        input("fired \(timer)") { $0.timerFired(timer, now: $1, into: &$2) }
    }

    private mutating func pass(_ duration: Duration) {
        let end = loopTime + duration
        while let (timer, due) = ledger.timers.min(by: { ($0.value, $0.key.serial) < ($1.value, $1.key.serial) }),
            due <= end
        {
            now += max(due - loopTime, .zero)
            loopTime = max(due, loopTime)
            fire(timer)
        }
        now += end - loopTime
        loopTime = end
    }

    private mutating func decide() {
        guard let last = ledger.questions.last else { return }
        let question = generator.oneIn(10) ? RetryQuestionID(rawValue: last.rawValue - 1) : last
        let delay: Duration? = generator.oneIn(20) ? nil : .milliseconds(Int.random(in: -10..<5_000, using: &generator))
        input("decided \(question) \(String(describing: delay))") {
            $0.retryDecided(question, delay: delay, now: $1, into: &$2)
        }
    }

    private mutating func wait() {
        if generator.oneIn(4), let waiter = ledger.waiters.min(by: { $0.rawValue < $1.rawValue }) {
            return input("cancelled \(waiter)") { machine, _, effects in machine.cancelWaiter(waiter, into: &effects) }
        }
        let waiter = machine.makeWaiter()
        ledger.began(waiter)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: input("awaits connection") { $0.awaitConnection(waiter, now: $1, into: &$2) }
        case 1: input("awaits disconnection") { $0.awaitDisconnection(waiter, now: $1, into: &$2) }
        default:
            let name = draw(Self.names)
            let id = machine.subscriptions[name]?.id ?? ChannelID(rawValue: 0)
            input("awaits \(name)") { machine, _, effects in
                machine.awaitSubscription(waiter, to: name, id, into: &effects)
            }
        }
    }

    // MARK: Shared

    private mutating func draw<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    /// Mostly the one that counts.
    private mutating func anyAttempt() -> AttemptID {
        let live = ledger.liveAttempt ?? ledger.attempts.last ?? AttemptID(rawValue: .max)
        return generator.oneIn(12) ? ledger.attempts.randomElement(using: &generator) ?? live : live
    }

    private mutating func input(
        _ description: @autoclosure @escaping () -> String,
        _ body: (inout ClientStateMachine, Instant, inout [Effect]) -> Void,
        noting note: (ClientStateMachine, inout Ledger) -> Void = { _, _ in }
    ) {
        inputCount += 1
        if lastInputs.count == 20 { lastInputs.removeFirst() }
        lastInputs.append(description)
        let wasConnected = machine.connectionState == .connected
        var effects: [Effect] = []
        body(&machine, now, &effects)
        if !wasConnected, machine.connectionState == .connected { connectionCount += 1 }
        note(machine, &ledger)
        for effect in effects { ledger.record(effect, at: loopTime) }
        ledger.check(machine)
        violations += ledger.takeViolations()
    }

    private mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }
}
