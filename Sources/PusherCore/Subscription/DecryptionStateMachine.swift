package import PusherEncryption
package import PusherProtocol

/// A machine that decrypts the events of one encrypted channel. If the key cannot decrypt an event, the machine fetches
/// the key again. Meanwhile, later events of the channel wait, so the events keep their order.
package struct DecryptionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The next subscription brings the key.
        case awaitingKey
        case open
        /// The client is fetching the key, because the machine cannot decrypt the first held event. The authorization is
        /// nil while the client waits before another try.
        case refreshing(AuthorizationID?)
    }

    private enum Key: Hashable, Sendable {
        case usable(SecretKey)
        /// The key is unusable. When the first event arrives, the client fetches the key again.
        case unusable
    }

    package enum Step: Hashable, Sendable {
        case deliver(Envelope)
        /// Drop the event, and report the reason.
        case fail(Envelope, Reason)
        /// Fetch the key again.
        case refreshKey
    }

    /// The reason why an event cannot be decrypted.
    package enum Reason: Hashable, Sendable {
        case malformed(String)
        /// Neither the known key nor the newly fetched key can decrypt the event.
        case wrongKey
        case refreshFailed(SubscriptionError)
        /// The client has recently fetched the key too often, and does not fetch it again.
        case tooManyRefreshes
        /// More events waited for the key than the limit allows.
        case tooManyHeld
        /// There is no key, because the channel could not be subscribed again.
        case noKey(SubscriptionError)
    }

    /// The maximum number of fetches of the key in ``refreshPeriod``. Without a limit, a flood of invalid events would
    /// cause a flood of requests.
    package static let maximumRefreshes = 10
    package static let refreshPeriod = Duration.seconds(60)

    package private(set) var phase = Phase.awaitingKey
    /// The key of the last authorization; nil before the first authorization.
    private var key: Key?
    /// Oldest first.
    package private(set) var held: [Envelope] = []
    /// Whether the client has fetched the key because of the first held event.
    private var hasRefreshedForFirst = false
    private var refreshes: [Instant] = []

    package init() {}

    /// Whether there is a key for this connection.
    package var hasKey: Bool { phase != .awaitingKey }

    /// - Parameters:
    ///   - limit: The maximum number of held events.
    ///   - size: The maximum size of the held events, in bytes.
    package mutating func received(_ envelope: Envelope, limit: Int, size: Int, now: Instant) -> [Step] {
        guard phase == .open else {
            held.append(envelope)
            var count = 0
            while held.count - count > 1, held.count - count > limit || heldSize(from: count) > size { count += 1 }
            guard count > 0 else { return [] }
            hasRefreshedForFirst = false
            defer { held.removeFirst(count) }
            return held.prefix(count).map { .fail($0, .tooManyHeld) }
        }
        var steps: [Step] = []
        read(envelope, isRetried: false, now: now, into: &steps)
        return steps
    }

    private func heldSize(from index: Int) -> Int {
        func size(_ text: String?) -> Int { text?.utf8.count ?? 0 }
        return held[index...].reduce(0) { sum, envelope in
            sum + size(envelope.data.text) + size(envelope.unknownKeysText) + size(envelope.event)
                + size(envelope.userID)
        }
    }

    /// Notes that the machine is fetching the key.
    package mutating func refreshBegan(_ id: AuthorizationID) { phase = .refreshing(id) }

    /// Notes that fetching the key failed for a reason that may pass.
    package mutating func refreshPostponed() { phase = .refreshing(nil) }

    /// Handles a key from a subscription or a fetch.
    package mutating func received(_ key: SecretKey, now: Instant) -> [Step] {
        self.key = .usable(key)
        return readHeld(now: now)
    }

    /// Handles an authorization whose shared secret is not a key.
    package mutating func receivedUnusableKey(now: Instant) -> [Step] {
        key = .unusable
        return readHeld(now: now)
    }

    /// Handles a failed fetch of the key. The machine drops the event that needed the key, and decrypts later events
    /// with the known key.
    package mutating func refreshFailed(_ error: SubscriptionError, now: Instant) -> [Step] {
        var steps: [Step] = []
        if hasRefreshedForFirst, !held.isEmpty { steps.append(.fail(held.removeFirst(), .refreshFailed(error))) }
        hasRefreshedForFirst = false
        return steps + readHeld(now: now)
    }

    /// Makes held and new events wait for the key of the next subscription.
    package mutating func awaitNextKey() { phase = .awaitingKey }

    /// Retires the machine together with the channel object. The machine drops held events, and expects no key.
    package mutating func retire() {
        held = []
        hasRefreshedForFirst = false
        phase = key == nil ? .awaitingKey : .open
    }

    /// Handles a confirmed subscription. If the subscription had failed before, the machine uses the last key again.
    package mutating func subscribed(now: Instant) -> [Step] {
        guard phase == .awaitingKey, key != nil else { return [] }
        // The known key did not come from the last fetch, so the first held event may cause another fetch.
        hasRefreshedForFirst = false
        return readHeld(now: now)
    }

    /// Handles a failed subscription, which will bring no key.
    package mutating func subscriptionFailed(_ error: SubscriptionError) -> [Step] {
        phase = .awaitingKey
        hasRefreshedForFirst = false
        defer { held = [] }
        return held.map { .fail($0, .noKey(error)) }
    }

    // MARK: Reading

    private mutating func readHeld(now: Instant) -> [Step] {
        phase = .open
        let events = held
        held = []
        var isRetried = hasRefreshedForFirst
        hasRefreshedForFirst = false
        var steps: [Step] = []
        for (index, event) in events.enumerated() {
            if !read(event, isRetried: isRetried, now: now, into: &steps) {
                held += events[(index + 1)...]
                break
            }
            isRetried = false
        }
        return steps
    }

    /// Decrypts an event. Returns `false` if the event has to wait for the key.
    @discardableResult
    private mutating func read(
        _ envelope: Envelope,
        isRetried: Bool,
        now: Instant,
        into steps: inout [Step]
    ) -> Bool {
        // Events without data are not encrypted. PusherSwift delivers them too.
        guard envelope.data != .none else {
            steps.append(.deliver(envelope))
            return true
        }
        do throws(EncryptedEvent.Failure) {
            guard case .usable(let key) = key else { throw .wrongKey }
            var event = envelope
            event.data = .string(try EncryptedEvent.open(envelope.data, with: key))
            event.unknownKeysText = nil
            steps.append(.deliver(event))
        } catch {
            switch error {
            case .malformed(let text):
                steps.append(.fail(envelope, .malformed(text)))
            case .wrongKey where isRetried:
                steps.append(.fail(envelope, .wrongKey))
            case .wrongKey:
                refreshes.removeAll { now - $0 >= Self.refreshPeriod }
                guard refreshes.count < Self.maximumRefreshes else {
                    steps.append(.fail(envelope, .tooManyRefreshes))
                    break
                }
                refreshes.append(now)
                held.append(envelope)
                hasRefreshedForFirst = true
                steps.append(.refreshKey)
                return false
            }
        }
        return true
    }
}
