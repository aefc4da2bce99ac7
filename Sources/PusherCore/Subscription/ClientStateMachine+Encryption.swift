import PusherEncryption
import PusherProtocol

/// Handles events of encrypted channels (protocol clause 10).
extension ClientStateMachine {
    /// Changes the channel's decryption machine, and carries out the resulting steps.
    mutating func updateDecryption(
        _ name: String,
        now: Instant,
        into effects: inout [Effect],
        _ change: (inout DecryptionStateMachine) -> [DecryptionStateMachine.Step]
    ) {
        let changed = subscriptions.update(name) { subscription in
            let held = subscription.decryption?.held.count ?? 0
            let steps = subscription.decryption?.apply(change)
            let added = (subscription.decryption?.held.count ?? 0) - held
            return steps.map { (subscription.id, steps: $0, added) }
        }
        guard let (id, steps, added) = changed ?? nil else { return }
        statistics.events.held += added
        for step in steps {
            switch step {
            case .deliver(let envelope):
                statistics.events.delivered += 1
                effects.append(.deliver(.channel(id), envelope))
            case .fail(let envelope, let reason):
                statistics.events.undecryptable += 1
                effects.append(.failedToDecrypt(id, envelope, .undecryptable(envelope, reason)))
            case .refreshKey:
                beginKeyRefresh(of: name, now: now, into: &effects)
            case .openBox(let box):
                let id = BoxID(rawValue: nextSerial())
                subscriptions.update(name) { $0.decryption?.openingBegan(id) }
                effects.append(.openBox(id, on: name, box))
            }
        }
    }

    /// Handles the answer of the app's code that opens boxes.
    ///
    /// - Parameter message: The message; nil if the key does not fit.
    package mutating func boxOpened(
        _ id: BoxID,
        on name: String,
        _ message: [UInt8]?,
        now: Instant,
        into effects: inout [Effect]
    ) {
        updateDecryption(name, now: now, into: &effects) { $0.opened(id, message, now: now) }
    }

    /// Fetches the key of an encrypted channel again.
    mutating func beginKeyRefresh(of name: String, now: Instant, into effects: inout [Effect]) {
        // A pending authorization of the subscription brings the key. Without a connection, the next subscription brings
        // the key.
        guard let socketID, subscriptions.read(name, { $0.isAuthorizing }) == false else {
            subscriptions.update(name) { $0.decryption?.awaitNextKey() }
            return
        }
        let authorization = beginAuthorization(of: .channel(name), socketID: socketID, now: now, into: &effects)
        subscriptions.update(name) { $0.decryption?.refreshBegan(authorization) }
    }

    /// Handles the outcome of fetching the key of an encrypted channel again. The subscription itself does not change.
    /// After a failure that may pass, the channel's events continue to wait for the key.
    mutating func keyRefreshed(
        _ name: String,
        _ result: Result<Authorization, AuthorizationError>,
        now: Instant,
        into effects: inout [Effect]
    ) {
        let failure: SubscriptionError
        switch result {
        case .success(let authorization):
            let secret = authorization.sharedSecret
            if let key = secret.flatMap(SecretKey.init(base64:)) {
                endRetry(of: .key(channel: name), into: &effects)
                return updateDecryption(name, now: now, into: &effects) { $0.received(key, now: now) }
            }
            failure = .invalidAuthorization(name, secret == nil ? .noSharedSecret : .malformedSharedSecret)
        case .failure(let error):
            failure = SubscriptionError(error, channelName: name)
            if let delay = retryDelay(after: error, of: .key(channel: name)) {
                subscriptions.update(name) { $0.decryption?.refreshPostponed() }
                return retry(
                    .key(channel: name),
                    after: failure.clientError,
                    notBefore: delay,
                    now: now,
                    into: &effects
                )
            }
        }
        failKeyRefresh(of: name, failure, now: now, into: &effects)
    }

    /// Handles a failure that cannot pass, while the client fetches the key again.
    mutating func failKeyRefresh(
        of name: String,
        _ error: SubscriptionError,
        now: Instant,
        into effects: inout [Effect]
    ) {
        endRetry(of: .key(channel: name), into: &effects)
        updateDecryption(name, now: now, into: &effects) { $0.refreshFailed(error, now: now) }
    }
}

extension DecryptionStateMachine {
    /// Carries out a change in place, because a copy would contain all held events.
    fileprivate mutating func apply(_ change: (inout Self) -> [Step]) -> [Step] { change(&self) }
}
