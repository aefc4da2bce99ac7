package import PusherProtocol

/// Handles messages from the server.
extension ClientStateMachine {
    /// The recipient of an ordinary event, besides the listeners of the whole client.
    package enum Recipient: Hashable, Sendable {
        case globalListeners
        case channel(ChannelID)
    }

    /// Returns the recipient of an ordinary event, or `nil` for other messages. The shell may deliver an ordinary event
    /// without ``received(_:on:now:into:)``, if the shell counts the event itself.
    package func recipient(ofEvent eventName: String, on channelName: String?, _ id: AttemptID) -> Recipient? {
        guard connection.establishedAttempt == id, !EventName.isProtocolEvent(eventName) else { return nil }
        return recipient(onChannel: channelName)
    }

    private func recipient(onChannel channelName: String?) -> Recipient? {
        guard let channelName else { return .globalListeners }
        return subscriptions.recipient(channelName).map { .channel($0) }
    }

    /// Handles a message. An ordinary event needs only one lookup in the channel table.
    package mutating func received(
        _ envelope: Envelope,
        on id: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard connection.currentAttempt == id else { return countDropped(envelope) }
        guard connection.isConnected else {
            return receivedBeforeHandshake(envelope, on: id, now: now, into: &effects)
        }
        frameReceived(now: now, into: &effects)
        guard EventName.isProtocolEvent(envelope.event) else {
            return deliver(envelope, now: now, into: &effects)
        }

        switch envelope.event {
        case EventName.ping:
            statistics.pings.received += 1
            send(.pong, into: &effects)
        case EventName.pong:
            ponged(now: now, into: &effects)
        case EventName.connectionEstablished:
            countIgnored()
        case EventName.error:
            receivedError(envelope, now: now, into: &effects)
        case EventName.subscriptionSucceededInternal:
            subscriptionSucceeded(envelope, now: now, into: &effects)
        case EventName.subscriptionCountInternal:
            subscriptionCountChanged(envelope, into: &effects)
        case EventName.subscriptionError, EventName.subscriptionErrorInternal:
            subscriptionRefused(envelope, now: now, into: &effects)
        case EventName.memberAddedInternal:
            memberAdded(envelope, into: &effects)
        case EventName.memberRemovedInternal:
            memberRemoved(envelope, into: &effects)
        case EventName.cacheMiss:
            cacheMissed(envelope, into: &effects)
        case EventName.signInSuccess:
            signInSucceeded(envelope, now: now, into: &effects)
        case EventName.watchlistEvents:
            watchlistChanged(envelope, into: &effects)
        default:
            // Listeners do not get internal events that this version does not know.
            guard !EventName.isInternalEvent(envelope.event) else { return countIgnored() }
            deliver(envelope, now: now, into: &effects)
        }
    }

    /// Handles a frame that is not a message. The connection stays open, because the next frame may be a message.
    package mutating func receivedMalformed(
        _ error: PusherClientError,
        on id: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        guard let current = connection.currentAttempt, current == id else { return countIgnored() }
        if case .disconnecting = connection.state { return countIgnored() }
        statistics.messages.malformed += 1
        frameReceived(now: now, into: &effects)
        effects.append(.report(error))
    }

    mutating func reportMalformed(_ error: PusherClientError, into effects: inout [Effect]) {
        statistics.messages.malformed += 1
        effects.append(.report(error))
    }

    // MARK: The handshake

    private mutating func receivedBeforeHandshake(
        _ envelope: Envelope,
        on id: AttemptID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        if case .disconnecting = connection.state { return countDropped(envelope) }
        switch envelope.event {
        case EventName.connectionEstablished:
            guard let handshake = Handshake(envelope.data) else {
                statistics.messages.malformed += 1
                return drop(id, .unusable(envelope, .noSocketID), now: now, into: &effects)
            }
            perform(connection.received(handshake, on: id, configuration, now: now), now: now, into: &effects)
        case EventName.error:
            // Before the handshake, an error has the same effect as a close frame with its code (protocol clause 6.2).
            let error = ServerErrorMessage(envelope)
            drop(id, error.clientError(), closeCode: error.closeCode, now: now, into: &effects)
        default:
            countDropped(envelope)
            effects.append(.report(.beforeHandshake(envelope)))
        }
    }

    // MARK: Events

    private mutating func deliver(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        if let recipient = recipient(onChannel: envelope.channel) {
            countDelivered()
            return effects.append(.deliver(recipient, envelope))
        }
        // Events may still arrive after the app has unsubscribed.
        guard let name = envelope.channel, let id = subscriptions.read(name, { $0.takesEvents ? $0.id : nil }) ?? nil
        else { return deliverToUserOrDrop(envelope, into: &effects) }
        guard !EventName.isProtocolEvent(envelope.event) else {
            countDelivered()
            return effects.append(.deliver(.channel(id), envelope))
        }
        statistics.events.received += 1
        if case .failed(let error)? = subscriptions.read(name, { $0.phase }), error.code != .subscriptionTimedOut {
            // The event does not wait for a key, because the channel may never get one. If the subscription only timed
            // out, the channel already has a key, and the machine tries to decrypt the event.
            statistics.events.undecryptable += 1
            return effects.append(.failedToDecrypt(id, envelope, .undecryptable(envelope, .noKey(error))))
        }
        let (limit, size) = (configuration.heldEncryptedEvents, configuration.heldEncryptedSize)
        updateDecryption(name, now: now, into: &effects) { $0.received(envelope, limit: limit, size: size, now: now) }
    }

    private mutating func cacheMissed(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let name = envelope.channel, let subscription = subscriptions[name], subscription.isWanted else {
            return countIgnored()
        }
        effects.append(.cacheMissed(subscription.id, envelope))
    }

    private mutating func subscriptionCountChanged(_ envelope: Envelope, into effects: inout [Effect]) {
        guard let name = envelope.channel, let id = subscriptions.read(name, { $0.isWanted ? $0.id : nil }) ?? nil
        else { return countIgnored() }
        guard let count = envelope.data.value?["subscription_count"]?.integer, count >= 0 else {
            return reportMalformed(.unusable(envelope, .noSubscriptionCount, on: name), into: &effects)
        }
        subscriptions.update(name) { $0.subscriptionCount = count }
        var event = envelope
        event.event = EventName.subscriptionCount
        effects.append(.subscriptionCountChanged(id, count, event))
    }
}
