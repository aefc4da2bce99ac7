import PusherEncryption
import PusherProtocol
import RealtimePrimitives

/// Events of encrypted channels (protocol clause 10).
extension ClientStateMachine {
    /// Has the channel's machine do something, and does what it says.
    mutating func decrypt(
        _ name: String,
        now: Instant,
        into effects: inout [Effect],
        _ change: (inout DecryptionStateMachine) -> [DecryptionStateMachine.Step]
    ) {
        let read = subscriptions.update(name) { subscription in
            let held = subscription.decryption?.held.count ?? 0
            let steps = subscription.changeDecryption(change)
            let added = (subscription.decryption?.held.count ?? 0) - held
            return steps.map { (subscription.id, steps: $0, added) }
        }
        guard let (id, steps, added) = read ?? nil else { return }
        statistics.events.held += added
        for step in steps {
            switch step {
            case .deliver(let envelope):
                statistics.events.delivered += 1
                effects.append(.deliver(.channel(id), envelope))
            case .fail(let envelope, let reason):
                statistics.events.undecryptable += 1
                let error = Self.failure(of: envelope, reason, on: name)
                effects.append(.failedToDecrypt(id, envelope, error))
            case .refreshKey:
                // A subscription that is being authorized brings the key; without a connection, the next one does.
                guard let socketID, subscriptions[name]?.isAuthorizing == false else {
                    subscriptions.update(name) { $0.decryption?.awaitNextKey() }
                    break
                }
                let authorization = beginAuthorization(
                    of: .channel(name),
                    socketID: socketID,
                    maximumTries: CoreConfiguration.keyRefreshTries,
                    now: now,
                    into: &effects
                )
                subscriptions.update(name) { $0.decryption?.refreshBegan(authorization) }
            }
        }
    }

    static func failure(
        of envelope: Envelope,
        _ reason: DecryptionStateMachine.Reason,
        on name: String
    ) -> PusherClientError {
        PusherClientError(
            .decryptionFailed,
            "the event \(envelope.event.prefix(fittingUTF8Bytes: EventName.maximumLength)) cannot be decrypted: \(reason)",
            channelName: name
        )
    }

    /// The key of an encrypted channel was asked for anew. The subscription itself goes on as it is.
    mutating func keyRefreshed(
        _ name: String,
        _ result: Result<Authorization, AuthorizationError>,
        now: Instant,
        into effects: inout [Effect]
    ) {
        do throws(SubscriptionError) {
            switch result {
            case .success(let authorization):
                let secret = try Self.sharedSecret(of: authorization, name)
                guard let key = SecretKey(base64: secret) else {
                    throw SubscriptionError(.invalidAuthorization, channelName: name, Self.unusableSecret(name))
                }
                decrypt(name, now: now, into: &effects) { $0.received(key, now: now) }
            case .failure(let error):
                throw SubscriptionError(error, channelName: name)
            }
        } catch {
            decrypt(name, now: now, into: &effects) { $0.refreshFailed(error, now: now) }
        }
    }
}

extension SubscriptionStateMachine {
    /// Where it stands, for what it holds may be much; nil where the channel is not encrypted.
    fileprivate mutating func changeDecryption<Result>(
        _ change: (inout DecryptionStateMachine) -> Result
    ) -> Result? {
        guard decryption != nil else { return nil }
        // In place; a copy would be one of all that is held.
        return change(&decryption!)
    }
}
