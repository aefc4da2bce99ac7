import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol

/// Reads the wire, and derives the events that each handler must get.
///
/// A handler must get an event if the handler was bound when the event's bytes arrived on the current connection.
/// Before the event, the server must have confirmed the client's last subscription. Other events may arrive. Events
/// arrive in order, and none arrives more often than the client received it.
final class WireLedger: Sendable {
    /// The state of the client, as the client sees it.
    struct ClientState: Sendable {
        var isConnected: @Sendable () -> Bool
        var isSubscribed: @Sendable (String) -> Bool
        /// Returns whether the client has decided on actions that are not carried out yet.
        var isBusy: @Sendable () -> Bool
    }

    struct State: Sendable {
        var clientState: ClientState?
        /// The current connection.
        var current: ObjectIdentifier?
        /// The current client; nil if there is none.
        var client: Int?
        var isEstablished = false
        var subscriptions = SentSubscriptions()
        /// Whether an HTTP request with messages of this connection has taken longer than the client waits for an
        /// answer. A late answer may seem to answer another request.
        var hadSlowRequest = false
        var pacing = Pacing()
        var wanted: Set<String> = []
        /// The channels that were reported as subscribed on this connection.
        var announced: Set<String> = []
        /// Whether an error has arrived in this read. The ledger does not predict the effects of errors. A busy client
        /// first carries out earlier decisions, and handles the error after the read.
        var isDisturbed = false
        /// Whether the client's own state decides which events are required.
        var trustsClaims = false
        /// The numbers of the events that have arrived on each channel since the app subscribed to it. A new listener may get
        /// those that had no listener.
        var arrived: [String: Set<Int>] = [:]
        var handlers: [Int: ExpectingHandler] = [:]
        /// The handlers for which the ledger has expected events since the last `settled()`.
        var expecting: Set<Int> = []
        var encrypted = EncryptedNumbers()
        var eventCount = 0
        var accounts = Accounts()
        /// The client events that any client has sent. `send()` may return after the app has released its client.
        var sentEvents: Set<Int> = []
        /// A digest of all messages on the wire.
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        var messageCount = 0
        /// A record of events that helps to find the reason of a violation. Nil unless requested.
        var trace: [String]?
    }

    let state = NIOLockedValueBox(State())
    let violations: Violations
    let loop: SimulatedEventLoop
    private let now: @Sendable () -> ContinuousClock.Instant

    /// - Parameter now: The client's clock.
    init(loop: SimulatedEventLoop, violations: Violations, now: @escaping @Sendable () -> ContinuousClock.Instant) {
        self.loop = loop
        self.violations = violations
        self.now = now
    }

    /// Returns a number that no earlier event had.
    func nextNumber() -> Int {
        state.withLockedValue { state in
            state.eventCount += 1
            return state.eventCount
        }
    }

    /// Adds a line to the record of events.
    func note(_ text: @autoclosure () -> String) {
        state.withLockedValue { state in
            guard state.trace != nil else { return }
            let milliseconds = loop.now.uptimeNanoseconds / 1_000_000
            state.trace?.append("\(milliseconds) ms  \(text())")
        }
    }

    // MARK: Connections

    func opened(_ connection: WatchedConnection) {
        note("a socket is opened")
        let (hasOther, problem) = state.withLockedValue { state in
            guard state.client == connection.client else { return (false, String?.none) }
            let problem = state.pacing.opened(now())
            defer { state.begin(ObjectIdentifier(connection)) }
            return (state.current != nil, problem)
        }
        violations.check(!hasOther, "a second socket is opened while another is open")
        if let problem { violations.add(problem) }
    }

    func ended(_ connection: WatchedConnection) {
        note("a socket has ended")
        state.withLockedValue { state in
            guard state.current == ObjectIdentifier(connection) else { return }
            state.pacing.ended(now())
            state.begin(nil)
        }
    }

    /// Records a close frame of the server.
    func closed(_ code: Int?, on connection: WatchedConnection) {
        note("← close \(code.map { String($0) } ?? "without a code")")
        state.withLockedValue { state in
            if state.current == ObjectIdentifier(connection) { state.pacing.told(code) }
        }
    }

    func readBegan(on connection: WatchedConnection) { endDisturbance(on: connection) }

    func readCompleted(on connection: WatchedConnection) {
        state.withLockedValue { state in
            if state.current == ObjectIdentifier(connection) { state.subscriptions.readCompleted() }
        }
        endDisturbance(on: connection)
    }

    private func endDisturbance(on connection: WatchedConnection) {
        let isBusy = state.withLockedValue { $0.isDisturbed ? $0.clientState?.isBusy : nil }
        guard isBusy?() != true else { return }
        state.withLockedValue { state in
            if state.current == ObjectIdentifier(connection) { state.isDisturbed = false }
        }
    }

    /// Replaces the previous client with another client, or with none.
    func replaceClient(_ clientState: ClientState?, _ client: Int?) {
        state.withLockedValue { state in
            state.begin(nil)
            state.client = client
            state.clientState = clientState
            state.pacing = Pacing()
            state.accounts = Accounts()
            state.encrypted.forgetEvents()
            state.wanted = []
            state.announced = []
        }
    }

    /// Records a call of the app that allows an attempt.
    func called() { state.withLockedValue { $0.pacing.called(now()) } }

    /// Records a call of the app that ends each wait.
    func disconnected() { state.withLockedValue { $0.pacing.disconnected(now()) } }

    /// Records the retry policy's decision, unless an earlier client asked.
    func decided(_ delay: Duration, by client: Int) {
        state.withLockedValue { state in
            if state.client == client { state.pacing.decided(now() + delay) }
        }
    }

    /// Forgets unanswered requests after a suspension, because the requests may have timed out.
    func suspended() { state.withLockedValue { $0.subscriptions.forgetUnanswered(loop.now) } }

    // MARK: Sent messages

    /// Checks a message that the client passes to the operating system.
    func written(_ text: String, on connection: WatchedConnection) {
        guard let envelope = try? Envelope(decoding: Array(text.utf8).span) else {
            return violations.add("the client sent invalid text: \(text)")
        }
        let now = loop.now
        let problem = state.withLockedValue { state -> String? in
            guard state.client == connection.client else { return nil }
            guard state.current == ObjectIdentifier(connection) else {
                return "\(envelope.event) is sent on an old socket"
            }
            guard state.isEstablished else { return "\(envelope.event) is sent before the server's greeting" }
            return state.written(envelope, now: now)
        }
        if let problem { violations.add(problem) }
    }

    /// Records the time that an HTTP request with messages has taken.
    func requestTook(_ time: TimeAmount, on connection: WatchedConnection) {
        guard time > TimeAmount(PusherTimeouts().subscription) else { return }
        state.withLockedValue { state in
            if state.current == ObjectIdentifier(connection) { state.hadSlowRequest = true }
        }
    }

    /// Records a message that the operating system has accepted.
    func sent(_ text: String, on connection: WatchedConnection) {
        note("→ \(text)")
        guard let envelope = try? Envelope(decoding: Array(text.utf8).span) else { return }
        let problem = state.withLockedValue { state -> String? in
            state.note(envelope, loop.now)
            guard EventName.isClientEvent(envelope.event), let channel = envelope.channel,
                let number = envelope.data.value?["n"]?.integer
            else { return nil }
            state.sentEvents.insert(number)
            return state.client == connection.client ? state.accounts.sent(number, on: channel) : nil
        }
        if let problem { violations.add(problem) }
    }

    // MARK: Received messages

    func willReceive(_ message: [UInt8], on connection: WatchedConnection) {
        note("← \(String(decoding: message, as: UTF8.self))")
        guard let envelope = try? Envelope(decoding: message.span) else { return }
        let clientState = state.withLockedValue { state in
            state.note(envelope, loop.now)
            return state.current == ObjectIdentifier(connection) ? state.clientState : nil
        }
        guard let clientState else { return }
        let isConnected = clientState.isConnected()
        let isSubscribed = envelope.channel.map(clientState.isSubscribed) ?? false
        let now = now()
        state.withLockedValue { state in
            state.received(envelope, isConnected: isConnected, isSubscribed: isSubscribed, now, loop.now)
        }
    }
}

extension WireLedger.State {
    /// Adds a message to the digest, without its data. Some data is encrypted with random bytes.
    fileprivate mutating func note(_ envelope: Envelope, _ time: NIODeadline) {
        messageCount += 1
        for byte in "\(time.uptimeNanoseconds) \(envelope.event) \(envelope.channel ?? "")".utf8 {
            digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3
        }
    }

    fileprivate mutating func begin(_ connection: ObjectIdentifier?) {
        current = connection
        isEstablished = false
        subscriptions = SentSubscriptions()
        hadSlowRequest = false
        isDisturbed = false
    }

    /// Records a message of the client. Returns the violation, if there is one.
    fileprivate mutating func written(_ envelope: Envelope, now: NIODeadline) -> String? {
        guard let channel = envelope.data.value?["channel"]?.string else { return nil }
        switch envelope.event {
        case EventName.subscribe: return subscriptions.subscribed(channel, now, isDisturbed: isDisturbed)
        case EventName.unsubscribe: subscriptions.unsubscribed(channel)
        default: break
        }
        return nil
    }

    fileprivate mutating func received(
        _ envelope: Envelope,
        isConnected: Bool,
        isSubscribed: Bool,
        _ now: ContinuousClock.Instant,
        _ time: NIODeadline
    ) {
        switch envelope.event {
        case EventName.connectionEstablished:
            isEstablished = true
            pacing.established(now)
        case EventName.subscriptionSucceededInternal, EventName.subscriptionSucceeded:
            if let channel = envelope.channel { subscriptions.confirmed(channel, time) }
        case EventName.subscriptionError, EventName.subscriptionErrorInternal:
            if let channel = envelope.channel { subscriptions.refused(channel) }
        case EventName.error:
            isDisturbed = true
            // An error after the greeting does not close the connection (protocol clause 6.2).
            if !isEstablished { pacing.told(envelope.data.value?["code"]?.integer) }
            subscriptions.failed(envelope.data.text ?? "")
        default:
            guard let channel = envelope.channel, !EventName.isProtocolEvent(envelope.event) else { return }
            let isUsers = channel.hasPrefix(ChannelName.serverToUserPrefix)
            // A signed-out user gets no events, even if the server confirms the user's own channel.
            let isKnown = isSubscribed || !isUsers && subscriptions.isConfirmedInRead(channel)
            let isAnswered = trustsClaims || (subscriptions.isConfirmed(channel) && !isDisturbed)
            let isOwn = isUsers || wanted.contains(channel) && isAnswered
            expect(envelope, on: channel, isDue: isConnected && isKnown && isOwn)
        }
    }

    private mutating func expect(_ envelope: Envelope, on channel: String, isDue: Bool) {
        let number: Int
        if ChannelKind(ofChannelNamed: channel).base == .privateEncrypted {
            guard let sealed = encrypted.received(envelope.data, on: channel) else { return }
            number = sealed
        } else {
            guard let open = EventNumber.read(envelope.data.text) else { return }
            number = open
        }
        arrived[channel, default: []].insert(number)
        for id in handlers.keys where handlers[id]?.wants(envelope.event, on: channel) == true {
            handlers[id]?.expect(number, on: channel, isDue: isDue)
            expecting.insert(id)
        }
    }
}

/// Reads and writes the number in the data of an event.
enum EventNumber {
    static func text(_ number: Int) -> String { #"{"n":\#(number)}"# }

    static func read(_ text: String?) -> Int? {
        guard let text, text.hasPrefix(#"{"n":"#), text.hasSuffix("}") else { return nil }
        return Int(text.dropFirst(5).dropLast())
    }
}
