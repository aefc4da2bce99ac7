import PusherProtocol
import TestSupport

@testable import PusherCore

/// Gives a machine random inputs, and checks the ledger after each input.
struct RandomWalk {
    private let seed: UInt64
    private var generator: SeededGenerator
    private var machine: ClientStateMachine
    private var ledger = Ledger()
    private var now = Instant()
    private var loopTime = Duration.zero
    private var inputCount = 0
    /// Closures that return descriptions of the last inputs. The walk calls them only after a failure.
    private var lastInputs: [() -> String] = []
    private var violations: [String] = []
    private(set) var connectionCount = 0
    private(set) var coverage = Coverage()
    /// The number of sent events. Events contain their number, and the ledger checks the order.
    private var eventCount = 0
    /// The encrypted events. The walk creates them once, because encryption is slow.
    private let secrets: [Envelope]

    private static let names = [
        "a", "ab", "a-b", "no good", "private-a", "presence-a", "private-encrypted-a", "presence-cache-a",
    ]
    private static let errors = [
        "no", "Invalid message format", "no a", "no a-b", "no user_data", "Existing subscription to channel a",
    ]
    // Code 4301 comes twice as often, because it seldom concerns subscriptions.
    private static let codes: [Int?] = [nil, 1000, 1006, 4000, 4001, 4009, 4100, 4200, 4201, 4301, 4301]

    init(seed: UInt64) throws {
        self.seed = seed
        secrets =
            try [TestKey.first, .second].map { try $0.message("1", on: "private-encrypted-a") }
            + [.message("private-encrypted-a"), Envelope(event: "message", channel: "private-encrypted-a")]
        generator = SeededGenerator(seed: seed)
        let request = TransportRequest(host: "h", port: 80, useTLS: seed.isMultiple(of: 2), path: "/app/key")
        var configuration = CoreConfiguration(endpoint: .success(request))
        // The machine is the same in builds without libsodium.
        configuration.boxOpener = .library
        configuration.maximumRetries = seed.isMultiple(of: 3) ? 4 : nil
        configuration.autoReconnect = !seed.isMultiple(of: 5)
        configuration.authorizationsAtOnce = seed.isMultiple(of: 2) ? 2 : 16
        configuration.heldEncryptedEvents = 5
        configuration.clientEventsPerSecond = 2
        machine = ClientStateMachine(configuration: configuration)
    }

    var attemptCount: Int { ledger.attempts.count }

    /// The description of the failure, with its seed and the last inputs, or nil if there was none.
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
        // Every second walk has fewer disturbances, because some states need several answers in a row.
        if seed.isMultiple(of: 2), generator.oneIn(2) { return help() }
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<5: input("connect") { $0.connect(now: $1, into: &$2) }
        case 5..<7: input("disconnect") { $0.disconnect(now: $1, into: &$2) }
        case 7..<17: subscribe(draw(Self.names))
        case 17..<23:
            let name = draw(Self.names)
            input("unsubscribe \(name)") { $0.unsubscribe(name, now: $1, into: &$2) }
        case 23..<33: open()
        case 33..<43: receive(Envelope.greeting(inputCount, activityTimeout: draw(["120", "1", nil, "\"x\""])))
        case 43..<51: answer()
        case 51..<55: authorize()
        case 55..<58: receive(message())
        case 58..<60: receiveSecret()
        case 60..<63: close()
        case 63..<70: fireTimer()
        case 70..<78: decide()
        case 78..<82: authorize()
        case 82..<84: input("sign in") { $0.signIn(now: $1, into: &$2) }
        case 84..<86: trigger(draw(Self.names))
        case 86: push()
        case 87..<92:
            // The time is usually short enough for answers to arrive before the timeouts.
            let longest = generator.oneIn(4) ? 40_000 : 1_000
            pass(.milliseconds(Int.random(in: 0..<longest, using: &generator)))
        case 92..<93: now += .seconds(Int.random(in: 0..<600, using: &generator))
        default: wait()
        }
    }

    private mutating func help() {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<3: authorize()
        case 3..<6: answer()
        case 6..<8: receive(message())
        default: receiveSecret()
        }
    }

    /// Releases the client, and closes the socket.
    mutating func end() {
        input("release") { $0.release(now: $1, into: &$2) }
        if let attempt = ledger.liveAttempt { close(attempt, code: 1000) }
        let ledger = ledger
        check(ledger.waiters.isEmpty, "\(ledger.waiters.count) calls wait for ever")
        check(ledger.timers.isEmpty, "the timers \(ledger.timers.keys.map(\.purpose)) are left")
        check(ledger.liveAttempt == nil, "a socket is left")
        check(machine.subscriptions.isEmpty, "channels are left")
        let clientEvents = machine.statistics(now: now).clientEvents
        check(clientEvents.accepted == clientEvents.sent + clientEvents.dropped, "\(clientEvents)")
    }

    private mutating func subscribe(_ name: String) {
        // Before the first connection, the walk passes no authorization, because the client would use one for any
        // socket id.
        let socketID = machine.socketID ?? (connectionCount > 0 ? "nothing" : nil)
        let own = generator.oneIn(8) ? socketID.map { Authorization(auth: "key:\($0)/\(name)") } : nil
        input("subscribe \(name)") { _ = $0.subscribe(name, auth: own, now: $1, into: &$2) }
    }

    /// Makes a call that checks, replaces or switches the connection, or resubscribes.
    private mutating func push() {
        switch Int.random(in: 0..<6, using: &generator) {
        case 5: closeAfterSilence()
        case 0: input("check") { $0.checkConnection(timeout: .seconds(5), now: $1, into: &$2) }
        case 1: input("reconnect") { $0.reconnectNow(now: $1, into: &$2) }
        case 2:
            let host = draw(["server.example", "second.example"])
            let request = TransportRequest(host: host, port: 80, useTLS: false, path: "/app/key")
            input("switch to \(host)") { $0.switchTo(request, now: $1, into: &$2) }
        default:
            let name = draw(Self.names)
            guard let id = machine.subscriptions[name]?.id else { return }
            input("resubscribe \(name)") { $0.resubscribe(name, id, now: $1, into: &$2) }
        }
    }

    private mutating func trigger(_ name: String) {
        guard let id = machine.subscriptions[name]?.id else { return }
        let messages = clientEvent(parts: draw([1, 1, 1, 3]))
        guard !generator.oneIn(3) else {
            return input("send latest \(messages) on \(name)") {
                $0.sendLatest(messages, of: "client-latest", on: name, id, now: $1, into: &$2)
            }
        }
        input("trigger \(messages) on \(name)") { $0.trigger(messages, on: name, id, now: $1, into: &$2) }
    }

    private mutating func clientEvent(parts: Int) -> [ClientEventQueue.Message] {
        eventCount += parts
        return (0..<parts).map { .init(event: "client-\(eventCount - parts + 1 + $0)", data: .json("1")) }
    }

    /// Answers a pending request, or confirms a request that does not exist.
    private mutating func answer() {
        let pending = machine.subscriptions.values.filter(\.isPending).map(\.name).sorted()
        if machine.signIn.isAwaitingServer, generator.oneIn(3) { return receive(.signedIn("u")) }
        let name = generator.oneIn(4) ? draw(Self.names) : pending.randomElement(using: &generator) ?? draw(Self.names)
        if generator.oneIn(6) { return receive(.error(nil, "Existing subscription to channel \(name)")) }
        let isPresence = name.hasPrefix("presence-") && !generator.oneIn(4)
        receive(isPresence ? .members(name, draw([["1"], ["1", "2"], ["3"]])) : .success(name))
    }

    private mutating func receiveSecret() {
        var envelope = draw(secrets)
        eventCount += 1
        envelope.event = "e\(eventCount)"
        receive(envelope)
    }

    /// Answers a pending authorization, or an authorization that never existed.
    private mutating func authorize() {
        let asked = ledger.authorizations.keys.sorted()
        // The next turn of the loop may come late, after other inputs.
        if ledger.isGathering {
            ledger.gathered()
            let batchSize = draw([1, 1, 3])
            return input("gathered") { $0.authorizationsGathered(batchSize: batchSize, now: $1, into: &$2) }
        }
        guard let id = asked.randomElement(using: &generator), let question = ledger.authorizations[id] else { return }
        if generator.oneIn(10) {
            let stale = AuthorizationTry(id.id, number: id.number + 1)
            return input("authorized \(stale)") { $0.authorized(stale, .success(.good(question)), now: $1, into: &$2) }
        }
        let result = draw(Self.results(question))
        ledger.authorized(id)
        input("authorized \(question) \(result)") { $0.authorized(id, result, now: $1, into: &$2) }
    }

    private static func results(
        _ question: AuthorizationQuestion
    ) -> [Result<Authorization, AuthorizationError>] {
        [
            .success(.good(question)), .success(.good(question)), .success(.good(question)),
            .success(Authorization(auth: Authorization.good(question).auth)), .success(Authorization(auth: "")),
            .success(.good(question, key: .second)), .success(.good(question, key: .second)),
            .failure(AuthorizationError(.refused, "no", httpStatus: 403, recovery: .askOnceMore)),
            .failure(AuthorizationError(.refused, "no", httpStatus: 503, recovery: .retry(after: .seconds(1)))),
            .failure(AuthorizationError(.invalidResponse, "no")),
        ]
    }

    private mutating func open() {
        let attempt = anyAttempt()
        input("opened \(attempt)") { $0.opened(attempt, now: $1, into: &$2) }
        if !generator.oneIn(4) { receive(.greeting(inputCount)) }
    }

    private mutating func message() -> Envelope {
        if let room = machine.subscriptions["presence-a"], room.isSubscribed, generator.oneIn(2) {
            let there = (room.roster?.members ?? []).map { "\"\($0.id)\"" }
            let others = there.filter { $0 != room.roster?.myID.map { "\"\($0)\"" } }
            return generator.oneIn(2)
                ? .memberAdded("presence-a", draw(["1", "2", "\"3\"", "null"]))
                : .memberRemoved("presence-a", draw(others + others + there + ["2"]))
        }
        return switch Int.random(in: 0..<14, using: &generator) {
        case 8: .memberAdded("presence-a", draw(["1", "2", "2", "\"2\"", "null"]))
        case 9: .memberRemoved("presence-a", draw(["1", "2", "2", "\"2\"", "null"]))
        case 10: .signedIn("u")
        case 11: .members("presence-a", draw([["1"], ["1", "2"], []]))
        case 12: .message("#server-to-user-u")
        case 13: Envelope(event: EventName.cacheMiss, channel: "presence-cache-a")
        case 0: .error(draw(Self.codes), draw(Self.errors))
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
            // The machine treats the message as an answer, so the request is no longer pending.
            for name in pending where machine.subscriptions[name]?.isPending != true { ledger.answered(name) }
        }
    }

    private mutating func close() { close(anyAttempt(), code: draw(Self.codes)) }

    /// Closes two connections after the same silence, as a server with an idle limit does.
    private mutating func closeAfterSilence() {
        for _ in 1...2 {
            if !machine.connection.isConnected {
                input("reconnect") { $0.reconnectNow(now: $1, into: &$2) }
                let attempt = anyAttempt()
                input("opened \(attempt)") { $0.opened(attempt, now: $1, into: &$2) }
                receive(.greeting(inputCount))
            }
            let attempt = anyAttempt()
            input("wrote on \(attempt)") { machine, now, _ in machine.wrote(on: attempt, now: now) }
            pass(.milliseconds(900))
            pass(.milliseconds(900))
            if machine.connection.establishedAttempt == attempt { close(attempt, code: 1006) }
        }
    }

    private mutating func close(_ attempt: AttemptID, code: Int?) {
        ledger.socketEnded(attempt)
        let closure = TransportClosure(code: code.map { CloseCode(rawValue: $0) })
        input("closed \(attempt) \(closure)") { $0.closed(attempt, closure, now: $1, into: &$2) }
    }

    /// Fires a running timer, or a timer that never existed.
    private mutating func fireTimer() {
        let timers = ledger.timers.keys.sorted { $0.serial < $1.serial }
        let timer = timers.randomElement(using: &generator) ?? TimerID(.retry, 1 << 60)
        fire(generator.oneIn(10) ? TimerID(timer.purpose, timer.serial + 1_000_000) : timer)
    }

    private mutating func fire(_ timer: TimerID) {
        ledger.fired(timer)
        if timer.purpose == .subscriptionPace {
            // The ledger must allow the client to repeat subscriptions that the server seems to have dropped.
            for subscription in machine.subscriptions.values where subscription.isPending {
                ledger.answered(subscription.name)
            }
        }
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
        let question = generator.oneIn(10) ? last.stale : last
        let delay: Duration? = generator.oneIn(20) ? nil : .milliseconds(Int.random(in: -10..<5_000, using: &generator))
        input("decided \(question) \(String(describing: delay))") {
            $0.retryDecided(question, delay: delay, now: $1, into: &$2)
        }
    }

    private mutating func wait() {
        if generator.oneIn(4), let waiter = ledger.waiters.min(by: { $0.rawValue < $1.rawValue }) {
            return input("cancelled \(waiter)") { machine, _, effects in machine.cancel(waiter, into: &effects) }
        }
        let waiter = machine.makeWaiter()
        ledger.began(waiter)
        switch Int.random(in: 0..<6, using: &generator) {
        case 4: input("awaits sign-in") { $0.awaitSignIn(waiter, now: $1, into: &$2) }
        case 5:
            let name = draw(Self.names)
            let id = machine.subscriptions[name]?.id ?? ChannelID(rawValue: 0)
            let messages = clientEvent(parts: draw([1, 1, 2, 0]))
            input("sends \(messages) on \(name)") {
                $0.send(messages, on: name, id, waiter: waiter, now: $1, into: &$2)
            }
        case 0: input("awaits connection") { $0.awaitConnection(waiter, now: $1, into: &$2) }
        case 1: input("awaits disconnection") { $0.awaitDisconnection(waiter, now: $1, into: &$2) }
        default:
            let name = draw(Self.names)
            let id = machine.subscriptions[name]?.id ?? ChannelID(rawValue: 0)
            input("awaits \(name)") { $0.awaitSubscription(waiter, to: name, id, now: $1, into: &$2) }
        }
    }

    // MARK: Shared

    private mutating func draw<Element>(_ elements: [Element]) -> Element {
        elements[Int.random(in: elements.indices, using: &generator)]
    }

    /// Returns the live attempt in most cases, and sometimes an older attempt.
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
        let (before, wasConnected) = (machine, machine.connectionState == .connected)
        var effects: [Effect] = []
        body(&machine, now, &effects)
        if !generator.oneIn(4) {
            machine.gatherAuthorizations(askedBy: &effects, batchSize: draw([1, 1, 3]), now: now)
        }
        coverage.record(before: before, after: machine, effects)
        if !wasConnected, machine.connectionState == .connected { connectionCount += 1 }
        note(machine, &ledger)
        for effect in effects {
            ledger.record(effect, at: loopTime)
            machine.wrote(effect, now: now)
        }
        coverage.record(effects, machine)
        // The socket writes its events, or fails to write them.
        for case .sendClientEvent(let attempt, let item) in effects {
            var more: [Effect] = []
            if let waiter = item.waiter, ledger.waiters.contains(waiter), generator.oneIn(5) {
                machine.cancel(waiter, into: &more)
            }
            machine.clientEventWritten(item, on: attempt, error: nil, now: now, into: &more)
            for effect in more { ledger.record(effect, at: loopTime) }
        }
        ledger.check(machine)
        violations += ledger.takeViolations()
    }

    private mutating func check(_ condition: Bool, _ violation: @autoclosure () -> String) {
        if !condition { violations.append(violation()) }
    }
}

extension RetryQuestionID {
    /// An earlier question, or a question that never existed.
    fileprivate var stale: Self {
        switch self {
        case .connection(let number): .connection(number - 1)
        case .request(let id, let failures): .request(id, failures: failures - 1)
        }
    }
}
