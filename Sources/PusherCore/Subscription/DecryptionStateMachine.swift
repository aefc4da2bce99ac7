package import PusherEncryption
package import PusherProtocol

/// Reads the events of one encrypted channel. If the key does not fit an event, the machine fetches the key again.
/// Later events of this channel wait, so that their order stays.
package struct DecryptionStateMachine: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// The subscription brings the key.
        case awaitingKey
        case open
        /// The key is being fetched, because the first of the held events cannot be read.
        case refreshing(AuthorizationID)
    }

    private enum Key: Hashable, Sendable {
        case usable(SecretKey)
        /// The key is unusable: the first event makes the client fetch it again.
        case unusable
    }

    package enum Step: Hashable, Sendable {
        case deliver(Envelope)
        /// The event is dropped.
        case fail(Envelope, Reason)
        /// Fetch the key again.
        case refreshKey
    }

    /// Why an event cannot be read.
    package enum Reason: Hashable, Sendable {
        case malformed(String)
        /// Neither the known key fits, nor the one that was fetched because of the event.
        case wrongKey
        case refreshFailed(SubscriptionError)
        /// The key was fetched so often lately that it is not fetched again.
        case tooManyRefreshes
        /// More events waited for the key than the limit allows.
        case tooManyHeld
        /// There is no key, because the channel could not be subscribed again.
        case noKey(SubscriptionError)
    }

    /// How often the key may be fetched in ``refreshPeriod``, so that a flood of unreadable events does not cause a
    /// flood of requests.
    package static let maximumRefreshes = 10
    package static let refreshPeriod = Duration.seconds(60)
    /// How many tries one fetch of the key has.
    static let triesPerRefresh = 2

    package private(set) var phase = Phase.awaitingKey
    /// The key of the last authorization; nil before the first one.
    private var key: Key?
    /// Oldest first.
    package private(set) var held: [Envelope] = []
    /// Whether the key was fetched because of the first held event.
    private var hasRefreshedForFirst = false
    private var refreshes: [Instant] = []

    package init() {}

    /// Whether there is a key for this connection.
    package var hasKey: Bool { phase != .awaitingKey }

    /// - Parameters:
    ///   - limit: The most events that may be held.
    ///   - size: The most bytes of data that they may have.
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
        held[index...].reduce(0) { $0 + ($1.data.text?.utf8.count ?? 0) }
    }

    /// Notes that the machine is fetching the key.
    package mutating func refreshBegan(_ id: AuthorizationID) { phase = .refreshing(id) }

    /// Handles a key that came with the subscription or was fetched.
    package mutating func received(_ key: SecretKey, now: Instant) -> [Step] {
        self.key = .usable(key)
        return readHeld(now: now)
    }

    /// Handles that the secret of the subscription is not a key.
    package mutating func receivedUnusableKey(now: Instant) -> [Step] {
        key = .unusable
        return readHeld(now: now)
    }

    /// Handles that the key could not be fetched. The event that needed it is dropped, and later ones are read with the
    /// known key.
    package mutating func refreshFailed(_ error: SubscriptionError, now: Instant) -> [Step] {
        var steps: [Step] = []
        if hasRefreshedForFirst, !held.isEmpty { steps.append(.fail(held.removeFirst(), .refreshFailed(error))) }
        hasRefreshedForFirst = false
        return steps + readHeld(now: now)
    }

    /// Lets held and new events wait for the key of the next subscription.
    package mutating func awaitNextKey() { phase = .awaitingKey }

    /// The channel object is retired: held events are dropped, and no key is expected.
    package mutating func retire() {
        held = []
        hasRefreshedForFirst = false
        phase = key == nil ? .awaitingKey : .open
    }

    /// Handles that the server confirmed the subscription. If the client had considered it failed, its key is used
    /// again.
    package mutating func subscribed(now: Instant) -> [Step] {
        guard phase == .awaitingKey, key != nil else { return [] }
        // No key has come since it was requested.
        hasRefreshedForFirst = false
        return readHeld(now: now)
    }

    /// Handles that no key will come.
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

    /// Returns `false` if the event has to wait for the key.
    @discardableResult
    private mutating func read(
        _ envelope: Envelope,
        isRetried: Bool,
        now: Instant,
        into steps: inout [Step]
    ) -> Bool {
        // PusherSwift delivers an event without data.
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
