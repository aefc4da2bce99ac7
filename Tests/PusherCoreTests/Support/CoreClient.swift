import PusherProtocol
import Testing

@testable import PusherCore

/// The machine with a clock and timers that a test controls. Tests use numbers or names for attempts, channels and
/// waiting calls, in the order of their appearance. The client checks the ledger after each input.
struct CoreClient {
    private(set) var machine: ClientStateMachine
    var ledger = Ledger()
    private(set) var now = Self.origin
    /// The event loop's clock, which stops while the computer is suspended.
    private var loopTime = Duration.zero
    private var channels: [ChannelID: String] = [:]
    private var waiters: [WaiterID] = []
    /// The client events that the machine has passed to a socket.
    private var sent: [(attempt: AttemptID, item: ClientEventQueue.Item)] = []

    private static let origin = Instant(after: .seconds(1_000))

    init(_ configure: (inout CoreConfiguration) -> Void = { _ in }) {
        let request = TransportRequest(host: "server.example", port: 80, useTLS: false, path: "/app/key")
        var configuration = CoreConfiguration(endpoint: .success(request))
        // The machine is the same in builds without libsodium.
        configuration.boxOpener = .library
        configure(&configuration)
        machine = ClientStateMachine(configuration: configuration)
    }

    /// Returns a client whose first attempt has succeeded.
    static func connected(_ configure: (inout CoreConfiguration) -> Void = { _ in }) -> CoreClient {
        var client = CoreClient(configure)
        client.connect()
        client.establish()
        return client
    }

    var state: ConnectionState { machine.connectionState }
    var attempt: Int { ledger.attempts.count }

    /// Returns the ids of a channel's members, in the order that the app sees.
    func members(of name: String) -> [String] { machine.subscriptions[name]?.roster?.members.map(\.id) ?? [] }

    mutating func keepSamples() { machine.keepSamples() }

    mutating func takeSamples() -> ClientStateMachine.Samples { machine.takeSamples() }

    mutating func configure(_ change: (inout CoreConfiguration) -> Void) { change(&machine.configuration) }

    // MARK: Calls

    @discardableResult
    mutating func connect() -> Transcript { input { $0.connect(now: $1, into: &$2) } }

    @discardableResult
    mutating func disconnect() -> Transcript { input { $0.disconnect(now: $1, into: &$2) } }

    @discardableResult
    mutating func release() -> Transcript { input { $0.release(now: $1, into: &$2) } }

    @discardableResult
    mutating func subscribe(_ name: String, auth: Authorization? = nil) -> Transcript {
        var effects: [Effect] = []
        let result = machine.subscribe(name, auth: auth, now: now, into: &effects)
        if result.isNew { channels[result.id] = name }
        return take(effects)
    }

    /// Subscribes to a channel until the lease ends.
    mutating func lease(_ name: String) -> ChannelID {
        var effects: [Effect] = []
        let result = machine.subscribe(name, isLease: true, now: now, into: &effects)
        if result.isNew { channels[result.id] = name }
        _ = take(effects)
        return result.id
    }

    @discardableResult
    mutating func endLease(_ name: String, _ id: ChannelID) -> Transcript {
        input { $0.endLease(of: name, id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func unsubscribe(_ name: String) -> Transcript { input { $0.unsubscribe(name, now: $1, into: &$2) } }

    @discardableResult
    mutating func resubscribe(_ name: String, _ id: ChannelID? = nil) -> Transcript {
        let id = id ?? self.id(ofChannel: name)
        return input { $0.resubscribe(name, id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func checkConnection(_ timeout: Duration = .seconds(5)) -> Transcript {
        input { $0.checkConnection(timeout: timeout, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func reconnectNow() -> Transcript { input { $0.reconnectNow(now: $1, into: &$2) } }

    @discardableResult
    mutating func switchTo(_ host: String, port: Int = 80, useTLS: Bool = false) -> Transcript {
        let request = TransportRequest(host: host, port: port, useTLS: useTLS, path: "/app/key")
        return input { $0.switchTo(request, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func unsubscribeAll() -> Transcript { input { $0.unsubscribeAll(now: $1, into: &$2) } }

    // MARK: Authorizations, sign-in, client events

    /// Answers the oldest question about a channel, or about the user if the name is nil.
    @discardableResult
    mutating func authorized(
        _ name: String?,
        _ result: Result<Authorization, AuthorizationError>? = nil
    ) -> Transcript {
        let subject = name.map { AuthorizationQuestion.Subject.channel($0) } ?? .user
        let asked = ledger.authorizations.filter { $0.value.subject == subject }
        guard let (id, question) = asked.min(by: { $0.key < $1.key }) else {
            return []
        }
        return answer(id, result ?? .success(.good(question)))
    }

    /// Answers a question, even if it is not pending.
    @discardableResult
    mutating func answer(_ id: AuthorizationTry, _ result: Result<Authorization, AuthorizationError>) -> Transcript {
        ledger.authorized(id)
        return input { $0.authorized(id, result, now: $1, into: &$2) }
    }

    /// Returns a connected client with a subscribed channel.
    static func subscribed(
        _ name: String,
        _ success: Envelope? = nil,
        _ configure: (inout CoreConfiguration) -> Void = { _ in }
    ) -> CoreClient {
        var client = CoreClient.connected(configure)
        client.subscribe(name)
        client.authorized(name)
        client.received(success ?? .success(name))
        return client
    }

    @discardableResult
    mutating func sendMessage(_ envelope: Envelope) -> Transcript {
        input { $0.sendMessage(envelope, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func signIn() -> Transcript { input { $0.signIn(now: $1, into: &$2) } }

    @discardableResult
    mutating func signOut() -> Transcript { input { $0.signOut(now: $1, into: &$2) } }

    @discardableResult
    mutating func awaitSignIn() -> Transcript {
        let waiter = makeWaiter()
        return input { $0.awaitSignIn(waiter, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func trigger(_ event: String, on name: String, _ id: ChannelID? = nil) -> Transcript {
        let id = id ?? self.id(ofChannel: name)
        return input { $0.trigger([.init(event: event, data: .json("1"))], on: name, id, now: $1, into: &$2) }
    }

    /// Sends a client event that replaces waiting events with the same name.
    @discardableResult
    mutating func sendLatest(
        _ event: String,
        data: String = "1",
        parts: Int = 1,
        on name: String,
        _ id: ChannelID? = nil
    ) -> Transcript {
        let id = id ?? self.id(ofChannel: name)
        let messages = (0..<parts).map { ClientEventQueue.Message(event: "\(event)", data: .json("\(data)\($0)")) }
        return input { $0.sendLatest(messages, of: event, on: name, id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func send(_ event: String, on name: String) -> Transcript {
        let (id, waiter) = (id(ofChannel: name), makeWaiter())
        return input {
            $0.send([.init(event: event, data: .json("1"))], on: name, id, waiter: waiter, now: $1, into: &$2)
        }
    }

    /// Triggers a client event that consists of several parts.
    @discardableResult
    mutating func trigger(_ event: String, parts: Int, on name: String) -> Transcript {
        let id = id(ofChannel: name)
        let messages = (1...parts).map { ClientEventQueue.Message(event: "\(event)-\($0)", data: .json("1")) }
        return input { $0.trigger(messages, on: name, id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func send(_ event: String, parts: Int, on name: String) -> Transcript {
        let (id, waiter) = (id(ofChannel: name), makeWaiter())
        let messages = (0..<parts).map { ClientEventQueue.Message(event: "\(event)-\($0 + 1)", data: .json("1")) }
        return input { $0.send(messages, on: name, id, waiter: waiter, now: $1, into: &$2) }
    }

    /// Reports that the socket has written the client event of a waiting call, or failed to write it.
    @discardableResult
    mutating func written(_ number: Int, error: PusherClientError? = nil) -> Transcript {
        let waiter = waiters[number - 1]
        return written(error: error) { $0.waiter == waiter }
    }

    /// Reports that the socket has written an event.
    @discardableResult
    mutating func written(_ event: String) -> Transcript { written(error: nil) { $0.envelope.event == event } }

    /// Reports that the socket was closed before it wrote this event, or before the server answered its request.
    @discardableResult
    mutating func notWritten(_ event: String, _ code: PusherClientError.Code = .notSubscribed) -> Transcript {
        written(error: PusherClientError(code, "lost")) { $0.envelope.event == event }
    }

    private mutating func written(
        error: PusherClientError?,
        _ isMeant: (ClientEventQueue.Item) -> Bool
    ) -> Transcript {
        guard let (attempt, item) = sent.last(where: { isMeant($0.item) }) else {
            Issue.record("no socket got such an event")
            return []
        }
        return input { $0.clientEventWritten(item, on: attempt, error: error, now: $1, into: &$2) }
    }

    func id(ofChannel name: String) -> ChannelID {
        machine.subscriptions[name]?.id ?? channels.first { $0.value == name }?.key ?? ChannelID(rawValue: 0)
    }

    // MARK: Policy, waiting calls

    /// Answers the last question to the retry policy, or an older question.
    @discardableResult
    mutating func decide(_ delay: Duration?, question: RetryQuestionID? = nil) -> Transcript {
        guard let question = question ?? ledger.questions.last else { return [] }
        return input { $0.retryDecided(question, delay: delay, now: $1, into: &$2) }
    }

    /// Answers the last questions to the retry policy, oldest first.
    @discardableResult
    mutating func decide(_ delay: Duration?, last count: Int) -> Transcript {
        ledger.questions.suffix(count).map { decide(delay, question: $0) }.reduce([], +)
    }

    @discardableResult
    mutating func awaitConnection() -> Transcript {
        let waiter = makeWaiter()
        return input { $0.awaitConnection(waiter, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func awaitDisconnection() -> Transcript {
        let waiter = makeWaiter()
        return input { $0.awaitDisconnection(waiter, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func awaitSubscription(_ name: String) -> Transcript {
        let waiter = makeWaiter()
        let id = id(ofChannel: name)
        return input { $0.awaitSubscription(waiter, to: name, id, now: $1, into: &$2) }
    }

    @discardableResult
    mutating func cancelWait(_ number: Int) -> Transcript {
        let waiter = waiters[number - 1]
        return input { machine, _, effects in machine.cancel(waiter, into: &effects) }
    }

    private mutating func makeWaiter() -> WaiterID {
        let waiter = machine.makeWaiter()
        waiters.append(waiter)
        ledger.began(waiter)
        return waiter
    }

    // MARK: Time

    /// Advances the time, and fires the timers that are due.
    @discardableResult
    mutating func advance(by duration: Duration) -> Transcript {
        let end = loopTime + duration
        var transcript: Transcript = []
        while let (timer, due) = ledger.timers.min(by: { ($0.value, $0.key.serial) < ($1.value, $1.key.serial) }),
            due <= end
        {
            now += due - loopTime
            loopTime = due
            transcript = transcript + fire(timer)
        }
        now += end - loopTime
        loopTime = end
        return transcript
    }

    /// Suspends the computer. The clock continues, and the event loop's timers stop.
    mutating func suspend(for duration: Duration) { now += duration }

    /// Returns the running timer for a purpose.
    func timer(_ purpose: TimerID.Purpose) -> TimerID? { ledger.timers.keys.first { $0.purpose == purpose } }

    /// Fires a timer, even if it is not due or no longer valid.
    @discardableResult
    mutating func fire(_ timer: TimerID) -> Transcript {
        ledger.fired(timer)
        let pending = machine.subscriptions.values.filter(\.isPending).map(\.name)
        // After these timers, the client may repeat an unanswered subscription, so the ledger must allow the
        // repetition.
        if [.subscriptionPace, .subscription].contains(timer.purpose) { for name in pending { ledger.answered(name) } }
        return input { $0.timerFired(timer, now: $1, into: &$2) }
    }

    /// Fires the running timer for a purpose immediately.
    @discardableResult
    mutating func fire(_ purpose: TimerID.Purpose) -> Transcript { timer(purpose).map { fire($0) } ?? [] }

    // MARK: Shared

    func id(of attempt: Int?) -> AttemptID {
        let index = (attempt ?? self.attempt) - 1
        return ledger.attempts.indices.contains(index) ? ledger.attempts[index] : AttemptID(rawValue: .max)
    }

    mutating func input(_ body: (inout ClientStateMachine, Instant, inout [Effect]) -> Void) -> Transcript {
        var effects: [Effect] = []
        body(&machine, now, &effects)
        return take(effects)
    }

    mutating func take(_ effects: [Effect]) -> Transcript {
        var effects = effects
        machine.gatherAuthorizations(askedBy: &effects, now: now)
        for effect in effects {
            ledger.record(effect, at: loopTime)
            if case .sendClientEvent(let attempt, let item) = effect { sent.append((attempt, item)) }
            machine.wrote(effect, now: now)
        }
        ledger.check(machine)
        for violation in ledger.takeViolations() { Issue.record("\(violation)") }
        return Transcript(effects, Names(now: now, attempts: ledger.attempts, channels: channels, waiters: waiters))
    }
}

extension ClientStateMachine {
    /// Gathers authorizations at once, as the shell does in the next turn of the loop. By default, each request has one
    /// channel.
    mutating func gatherAuthorizations(askedBy effects: inout [Effect], batchSize: Int = 1, now: Instant) {
        guard effects.contains(.gatherAuthorizations) else { return }
        effects.removeAll { $0 == .gatherAuthorizations }
        authorizationsGathered(batchSize: batchSize, now: now, into: &effects)
    }

    /// Reports an outgoing message as written.
    mutating func wrote(_ effect: Effect, now: Instant) {
        switch effect {
        case .send(let id, _), .sendMessage(let id, _), .sendClientEvent(let id, _): wrote(on: id, now: now)
        default: break
        }
    }

    /// Cancels a waiting call. The shell knows the call's channel, but a test does not, so the method looks up the
    /// channel.
    mutating func cancel(_ waiter: WaiterID, into effects: inout [Effect]) {
        let name = subscriptions.values.first { $0.waiters.contains(waiter) }?.name
        cancelWaiter(waiter, subscribing: name, into: &effects)
    }
}
