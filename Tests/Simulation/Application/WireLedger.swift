import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherProtocol

/// Reads along on the wire, and knows from it which event has to come to whom.
///
/// An event is due to a handler where its bytes came on the connection that counts, after the server had confirmed the
/// last subscription that the client sent, and while the handler was bound. All others may come, in their order, and
/// at most as often as they were received.
final class WireLedger: Sendable {
    /// What the client says of itself, for each channel.
    struct Claims: Sendable {
        var isConnected: @Sendable () -> Bool
        var isSubscribed: @Sendable (String) -> Bool
    }

    struct State: Sendable {
        var claims: Claims?
        /// The connection that counts.
        var current: ObjectIdentifier?
        /// The client that is looked at; nil where there is none.
        var client: Int?
        var isEstablished = false
        /// Subscriptions that were sent and not answered, and when.
        var unanswered: [String: NIODeadline] = [:]
        var awaitedAnswers: [String: Int] = [:]
        var confirmed: Set<String> = []
        var confirmedInRead: Set<String> = []
        var wanted: Set<String> = []
        /// True where an error came in this read: what it leads to is not foreseen here.
        var isDisturbed = false
        /// From now on what the client says of itself decides.
        var trustsClaims = false
        var handlers: [Int: ExpectingHandler] = [:]
        /// Those that something may still have to come to.
        var expecting: Set<Int> = []
        /// How many events of encrypted channels were received.
        var encryptedCounts: [String: Int] = [:]
        var eventCount = 0
        var accounts = Accounts()
        /// Of everything that went over the wire.
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        var messageCount = 0
    }

    let state = NIOLockedValueBox(State())
    let violations: Violations
    private let loop: SimulatedEventLoop

    init(loop: SimulatedEventLoop, violations: Violations) {
        self.loop = loop
        self.violations = violations
    }

    /// A number that no event had before.
    func nextNumber() -> Int {
        state.withLockedValue { state in
            state.eventCount += 1
            return state.eventCount
        }
    }

    // MARK: Connections

    func opened(_ connection: SimulatedConnection) {
        let hasOther = state.withLockedValue { state in
            guard state.client == connection.client else { return false }
            defer { state.begin(ObjectIdentifier(connection)) }
            return state.current != nil
        }
        violations.check(!hasOther, "a second socket is opened while one stands")
    }

    func ended(_ connection: SimulatedConnection) {
        state.withLockedValue { state in
            if state.current == ObjectIdentifier(connection) { state.begin(nil) }
        }
    }

    func readCompleted(on connection: SimulatedConnection) {
        state.withLockedValue { state in
            guard state.current == ObjectIdentifier(connection) else { return }
            state.confirmedInRead = []
            state.isDisturbed = false
        }
    }

    /// Another client takes the place of the one there was.
    func replaceClient(_ claims: Claims?, _ client: Int?) {
        state.withLockedValue { state in
            state.begin(nil)
            state.client = client
            state.claims = claims
            state.accounts = Accounts()
            state.wanted = []
        }
    }

    /// Time has passed that timers do not know of: what is not answered may have been given up.
    func suspended() { state.withLockedValue { $0.unanswered = [:] } }

    // MARK: What the client sends

    func sent(_ text: String, on connection: SimulatedConnection) {
        guard let envelope = try? Envelope(decoding: Array(text.utf8).span) else {
            return violations.add("the client sent what is no message: \(text)")
        }
        let now = loop.now
        let problem = state.withLockedValue { state -> String? in
            state.note(envelope, now)
            guard state.client == connection.client else { return nil }
            guard state.current == ObjectIdentifier(connection) else {
                return "\(envelope.event) is sent on a socket of the past"
            }
            guard state.isEstablished else { return "\(envelope.event) is sent before the server's greeting" }
            return state.sent(envelope, now: now)
        }
        if let problem { violations.add(problem) }
    }

    // MARK: What the client receives

    func willReceive(_ message: ByteBuffer, on connection: SimulatedConnection) {
        guard let envelope = try? Envelope(decoding: Array(message.readableBytesView).span) else { return }
        let claims = state.withLockedValue { state in
            state.note(envelope, loop.now)
            return state.current == ObjectIdentifier(connection) ? state.claims : nil
        }
        guard let claims else { return }
        let isConnected = claims.isConnected()
        let isSubscribed = envelope.channel.map(claims.isSubscribed) ?? false
        state.withLockedValue { state in
            state.received(envelope, isConnected: isConnected, isSubscribed: isSubscribed)
        }
    }
}

extension WireLedger.State {
    /// Not of the data, some of which is encrypted with what chance brings.
    fileprivate mutating func note(_ envelope: Envelope, _ time: NIODeadline) {
        messageCount += 1
        for byte in "\(time.uptimeNanoseconds) \(envelope.event) \(envelope.channel ?? "")".utf8 {
            digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3
        }
    }

    fileprivate mutating func begin(_ connection: ObjectIdentifier?) {
        current = connection
        isEstablished = false
        unanswered = [:]
        awaitedAnswers = [:]
        confirmed = []
        confirmedInRead = []
        isDisturbed = false
    }

    /// What is wrong with it, if something is.
    fileprivate mutating func sent(_ envelope: Envelope, now: NIODeadline) -> String? {
        if EventName.isClientEvent(envelope.event), let channel = envelope.channel {
            let number = envelope.data.value?["n"]?.integer
            return number.flatMap { accounts.sent($0, on: channel) }
        }
        guard let channel = envelope.data.value?["channel"]?.string else { return nil }
        switch envelope.event {
        case EventName.subscribe:
            confirmed.remove(channel)
            awaitedAnswers[channel, default: 0] += 1
            let last = unanswered.updateValue(now, forKey: channel)
            // After the time for an answer is over, the client may try anew.
            if let last, now - last < .seconds(10) { return "\(channel) is subscribed twice" }
        case EventName.unsubscribe:
            confirmed.remove(channel)
            unanswered[channel] = nil
        default:
            break
        }
        return nil
    }

    fileprivate mutating func received(_ envelope: Envelope, isConnected: Bool, isSubscribed: Bool) {
        switch envelope.event {
        case EventName.connectionEstablished:
            isEstablished = true
        case EventName.subscriptionSucceededInternal, EventName.subscriptionSucceeded:
            guard let channel = envelope.channel else { return }
            unanswered[channel] = nil
            awaitedAnswers[channel] = max(0, awaitedAnswers[channel, default: 0] - 1)
            guard awaitedAnswers[channel] == 0 else { return }
            confirmed.insert(channel)
            confirmedInRead.insert(channel)
        case EventName.subscriptionError, EventName.subscriptionErrorInternal:
            guard let channel = envelope.channel else { return }
            unanswered[channel] = nil
            confirmed.remove(channel)
        case EventName.error:
            unanswered = [:]
            isDisturbed = true
            let text = envelope.data.text ?? ""
            confirmed = confirmed.filter { !text.contains($0) }
        default:
            guard let channel = envelope.channel, !EventName.isProtocolEvent(envelope.event) else { return }
            let isKnown = isSubscribed || confirmedInRead.contains(channel)
            let isAnswered = trustsClaims || (confirmed.contains(channel) && !isDisturbed)
            let isDue = isConnected && isKnown && isAnswered && wanted.contains(channel)
            expect(envelope, on: channel, isDue: isDue)
        }
    }

    private mutating func expect(_ envelope: Envelope, on channel: String, isDue: Bool) {
        // What is in an encrypted event is not read here.
        let isEncrypted = ChannelKind(ofChannelNamed: channel).base == .privateEncrypted
        if isEncrypted {
            encryptedCounts[channel, default: 0] += 1
            if isDue { accounts.expectEncrypted(on: channel) }
        }
        guard !isEncrypted, let number = EventNumber.read(envelope.data.text) else { return }
        for id in handlers.keys where handlers[id]?.wants(envelope.event, on: channel) == true {
            handlers[id]?.expect(number, on: channel, isDue: isDue)
            expecting.insert(id)
        }
    }
}

/// The number in the data of an event.
enum EventNumber {
    static func text(_ number: Int) -> String { #"{"n":\#(number)}"# }

    static func read(_ text: String?) -> Int? {
        guard let text, text.hasPrefix(#"{"n":"#), text.hasSuffix("}") else { return nil }
        return Int(text.dropFirst(5).dropLast())
    }
}
