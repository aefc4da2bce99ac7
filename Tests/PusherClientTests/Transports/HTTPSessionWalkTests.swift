import PusherProtocol
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// A session with random inputs from app, network and server, and a model of its requests and timers.
private struct SessionWalk {
    private enum Request {
        case unanswered
        case answered
    }

    private var machine: HTTPSessionStateMachine
    private var generator: SeededGenerator
    private var now = Instant(after: .seconds(1))
    /// The receiving requests under way.
    private var requests: [Int: Request] = [:]
    private var newestRequest = 0
    private var endedRequest: Int?
    private var isAtFrameEnd = true
    private var timers: Set<HTTPSessionStateMachine.Timer> = []
    /// The messages of the request that sends messages; nil without such a request.
    private var sending: [String]?
    private var isReading = true
    private var sentMessages: [String] = []
    private var acceptedCount = 0
    private var isAborted = false
    private var reports: [HTTPSessionStateMachine.Report] = []
    private(set) var failures: [String] = []
    private(set) var coverage: Set<String> = []

    init(seed: UInt64, _ mode: HTTPSessionStateMachine.Mode) {
        generator = SeededGenerator(seed: seed)
        machine = HTTPSessionStateMachine(
            mode,
            at: HTTPTransportAddress(host: "server.test", port: 80, path: "/app/key", query: ""),
            HTTPSessionName(using: &generator),
            sendBufferSize: 200,
            streamLength: 100
        )
        carryOut(machine.start(now: now))
    }

    var isClosed: Bool { machine.isClosed }

    mutating func step() {
        now += .milliseconds(Int.random(in: 0...700, using: &generator))
        carryOut(randomInput())
        // An action can still cancel the request whose end was the input.
        if let endedRequest { requests[endedRequest] = nil }
        endedRequest = nil
        check()
    }

    /// Checks that a closed session handles no more inputs.
    mutating func checkEnd() {
        let end = machine
        for timer in HTTPSessionStateMachine.Timer.allCases { carryOut(machine.timerFired(timer, now: now)) }
        carryOut(
            machine.close(code: 1000, now: now) + machine.abort() + machine.setReading(!isReading, now: now)
                + machine.flush(now: now) + machine.sendAnswered(status: 204, now: now)
        )
        for number in 1...newestRequest {
            carryOut(machine.answered(number, status: 200, now: now) + machine.ended(number, now: now))
        }
        expect(machine == end, "an input after the end has an effect")
        check()
        expect(
            reports.count { if case .closed = $0 { true } else { false } } == (isAborted ? 0 : 1),
            "the number of ends"
        )
    }

    private mutating func expect(_ condition: Bool, _ failure: String) {
        if !condition { failures.append(failure) }
    }

    // MARK: Inputs

    private mutating func randomInput() -> [HTTPSessionStateMachine.Action] {
        let current = machine.currentResponse
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<15:
            guard let number = requests.filter({ $0.value == .unanswered }).keys.sorted().first else { return [] }
            requests[number] = .answered
            let status = generator.oneIn(30) ? 404 : 200
            var actions = machine.answered(number, status: status, now: now)
            if status == 200, number == current, machine.state == .opening {
                actions += machine.opened(hostname: nil, now: now)
            } else if status == 200, number != current {
                // The start of a second response shows whether the server refuses the handover.
                actions += generator.oneIn(4) ? machine.refusedHandover(number) : machine.acceptedHandover(number)
            }
            return actions
        case 15..<45:
            guard let current, requests[current] == .answered, isReading, machine.state != .opening else { return [] }
            isAtFrameEnd = !generator.oneIn(4)
            return machine.handled(
                size: Int.random(in: 1...60, using: &generator),
                hasMessages: generator.oneIn(2),
                isAtFrameEnd: isAtFrameEnd,
                of: current,
                now: now
            )
        case 45..<55:
            guard let current, requests[current] == .answered, isReading else { return [] }
            // An open stream rarely ends without a successor.
            guard machine.mode == .polling || requests.count > 1 || generator.oneIn(20) else { return [] }
            guard isAtFrameEnd || generator.oneIn(10) else { return [] }
            endedRequest = current
            return machine.ended(current, now: now)
        case 55..<56:
            guard let number = requests.keys.sorted().randomElement(using: &generator) else { return [] }
            endedRequest = number
            return machine.failed(number, PusherClientError(.connectionClosed, "reset"))
        case 56..<61: return machine.heartbeat(wantsAnswer: true, now: now)
        case 61..<75:
            guard machine.isOpen else { return [] }
            for _ in 0...Int.random(in: 0...2, using: &generator) {
                let padding = generator.oneIn(6) ? Int.random(in: 0...150, using: &generator) : 0
                let message = "\(sentMessages.count) \(String(repeating: "x", count: padding))"
                machine.send(message)
                sentMessages.append(message)
            }
            return machine.flush(now: now)
        case 75..<87:
            guard sending != nil else { return [] }
            if generator.oneIn(60) { return machine.sendFailed(PusherClientError(.connectionClosed, "reset")) }
            return machine.sendAnswered(status: generator.oneIn(60) ? 500 : 204, now: now)
        case 87..<92:
            isReading.toggle()
            return machine.setReading(isReading, now: now)
        case 92..<97:
            guard let timer = timers.min(by: { "\($0)" < "\($1)" }) else { return [] }
            // The other side usually answers in time.
            guard timer == .poll || generator.oneIn(10) else { return [] }
            timers.remove(timer)
            return machine.timerFired(timer, now: now)
        case 97..<98: return generator.oneIn(4) ? machine.close(code: 1000, now: now) : []
        case 98..<99: return generator.oneIn(4) ? machine.closedByServer(4200, reason: "") : []
        default:
            guard generator.oneIn(8) else { return [] }
            isAborted = true
            return machine.abort()
        }
    }

    // MARK: Actions

    private mutating func carryOut(_ actions: [HTTPSessionStateMachine.Action]) {
        for action in actions {
            coverage.insert(String("\(action)".prefix { $0 != "(" }))
            switch action {
            case .receive(let number, _):
                expect(number > newestRequest, "the numbers of requests do not increase")
                newestRequest = number
                requests[number] = .unanswered
                if requests.count - (endedRequest == nil ? 0 : 1) == 2 { coverage.insert("handover") }
            case .setReading(let number, _): expect(requests[number] != nil, "the session reads an ended response")
            case .cancel(let number):
                expect(requests.removeValue(forKey: number) != nil, "the session cancels an ended request")
            case .send(_, let body, let count):
                expect(sending == nil, "the session sends two requests with messages at once")
                let messages = JSONValue(parsing: body)?.array?.compactMap(\.string) ?? []
                expect(messages.count == count, "the count of messages is wrong")
                let expected = sentMessages.dropFirst(acceptedCount).prefix(count)
                expect(messages.elementsEqual(expected), "messages are lost, repeated or reordered")
                sending = messages
            case .sent:
                acceptedCount += sending?.count ?? 0
                sending = nil
            case .cancelSend:
                expect(sending != nil, "the session cancels an ended request with messages")
                sending = nil
            case .setTimer(let timer, let delay):
                expect(delay > .zero, "a timer has no delay")
                timers.insert(timer)
            case .cancelTimer(let timer): timers.remove(timer)
            case .report(let report):
                if report == .opened { expect(reports.isEmpty, "the session opens twice, or after its end") }
                if case .closed(let closure) = report, closure.error?.code == .sendBufferFull {
                    coverage.insert("sendBufferFull")
                }
                reports.append(report)
            }
        }
    }

    private mutating func check() {
        expect(requests.count <= 2, "there are more than two receiving requests")
        if machine.isClosed {
            expect(requests.isEmpty && sending == nil && timers.isEmpty, "the end leaves requests or timers")
            return
        }
        if let current = machine.currentResponse {
            expect(requests[current] != nil, "the current response has ended")
        } else {
            expect(machine.mode == .polling && (timers.contains(.poll) || !isReading), "the session is stuck")
        }
        expect(sending == nil || timers.contains(.send), "a request with messages has no time limit")
        expect(sending != nil || acceptedCount == sentMessages.count, "messages wait without a request")
        if requests.count == 2, requests.values.allSatisfy({ $0 == .answered }) {
            expect(timers.contains(.handover) || sending != nil, "a handover has no time limit")
        }
    }
}

@Suite("The session of an HTTP transport, with random inputs", .limited)
struct HTTPSessionWalkTests {
    @Test(
        "no order of inputs breaks a rule of the session",
        arguments: [HTTPSessionStateMachine.Mode.streaming, .polling]
    )
    func walk(mode: HTTPSessionStateMachine.Mode) {
        var coverage: Set<String> = []
        for seed in UInt64(1)...500 {
            var walk = SessionWalk(seed: seed, mode)
            var steps = 0
            while !walk.isClosed, walk.failures.isEmpty, steps < 2_000 {
                walk.step()
                steps += 1
            }
            if walk.isClosed { walk.checkEnd() }
            coverage.formUnion(walk.coverage)
            guard walk.failures.isEmpty else {
                Issue.record("seed \(seed), step \(steps): \(walk.failures)")
                return
            }
        }
        var expected: Set<String> = [
            "receive", "setReading", "cancel", "send", "sent", "cancelSend", "setTimer", "cancelTimer", "report",
            "sendBufferFull",
        ]
        if mode == .streaming { expected.insert("handover") }
        #expect(coverage == expected)
    }
}
