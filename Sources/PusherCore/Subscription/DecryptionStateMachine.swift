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
        /// The app's code is opening the first held event.
        case opening(BoxID)
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
        /// Let the app's code open the first held event.
        case openBox(SealedBox)
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

    private let opener: BoxOpener

    package init(opener: BoxOpener = .library) { self.opener = opener }

    /// Whether there is a key for this connection.
    package var hasKey: Bool { phase != .awaitingKey }

    /// - Parameters:
    ///   - limit: The maximum number of held events.
    ///   - size: The maximum size of the held events, in bytes.
    package mutating func received(_ envelope: Envelope, limit: Int, size: Int, now: Instant) -> [Step] {
        guard phase == .open else {
            held.append(envelope)
            // The event that the app's code is opening is as good as delivered.
            let first = if case .opening = phase { 1 } else { 0 }
            var end = first
            while held.count - end > 1, held.count - end > limit || heldSize(from: end) > size { end += 1 }
            guard end > first else { return [] }
            if first == 0 { hasRefreshedForFirst = false }
            defer { held.removeSubrange(first..<end) }
            return held[first..<end].map { .fail($0, .tooManyHeld) }
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

    /// Notes that the app's code is opening the first held event.
    package mutating func openingBegan(_ id: BoxID) { phase = .opening(id) }

    /// Handles the answer of the app's code.
    ///
    /// - Parameter message: The message; nil if the key does not fit.
    package mutating func opened(_ id: BoxID, _ message: [UInt8]?, now: Instant) -> [Step] {
        guard phase == .opening(id), let envelope = held.first else { return [] }
        held.removeFirst()
        let isRetried = hasRefreshedForFirst
        hasRefreshedForFirst = false
        var steps: [Step] = []
        do throws(EncryptedEvent.Failure) {
            guard let message else { throw .wrongKey }
            steps.append(.deliver(envelope.decrypted(to: try EncryptedEvent.text(of: message))))
        } catch {
            guard fail(envelope, error, isRetried: isRetried, now: now, into: &steps) else { return steps }
        }
        return steps + readHeld(now: now)
    }

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
            switch opener {
            case .library:
                steps.append(.deliver(envelope.decrypted(to: try EncryptedEvent.open(envelope.data, with: key))))
                return true
            case .app:
                let sealed = try EncryptedEvent.read(envelope.data)
                held.insert(envelope, at: 0)
                hasRefreshedForFirst = isRetried
                steps.append(.openBox(SealedBox(nonce: sealed.nonce, box: sealed.box, key: key)))
                return false
            case .nobody:
                throw .malformed("this build cannot decrypt it")
            }
        } catch {
            return fail(envelope, error, isRetried: isRetried, now: now, into: &steps)
        }
    }

    /// Handles an event that cannot be decrypted. Returns `false` if the event has to wait for the key.
    private mutating func fail(
        _ envelope: Envelope,
        _ failure: EncryptedEvent.Failure,
        isRetried: Bool,
        now: Instant,
        into steps: inout [Step]
    ) -> Bool {
        switch failure {
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
            held.insert(envelope, at: 0)
            hasRefreshedForFirst = true
            steps.append(.refreshKey)
            return false
        }
        return true
    }
}

/// The nonce, the box and the key of an encrypted event, for the app's code.
package struct SealedBox: Hashable, Sendable {
    package var nonce: [UInt8]
    /// The tag and the encrypted message.
    package var box: [UInt8]
    package var key: SecretKey
}

extension Envelope {
    fileprivate func decrypted(to text: String) -> Envelope {
        var event = self
        event.data = .string(text)
        event.unknownKeysText = nil
        return event
    }
}
