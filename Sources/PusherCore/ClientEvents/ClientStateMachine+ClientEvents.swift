package import PusherProtocol

/// Events that the app sends (protocol clause 5).
extension ClientStateMachine {
    /// Sends client events, all or none, as soon as the channel is subscribed and the server's limit allows it.
    package mutating func trigger(
        _ messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        catchUp(now: now, into: &effects)
        do throws(ClientEventQueue.UnsentReason) {
            if try enqueue(messages, on: name, id, waiter: nil) { sendClientEvents(now: now, into: &effects) }
        } catch {
            refuse(messages.first?.event, on: name, error, into: &effects)
        }
    }

    /// Sends client events of which only the newest count: in the place of those of the same name that wait for the
    /// server's limit, and not at all if the channel is not subscribed. If it never will be, that is reported.
    ///
    /// - Parameter eventName: The name before the app's transformer made messages of it.
    package mutating func sendLatest(
        _ messages: [ClientEventQueue.Message],
        of eventName: String,
        on name: String,
        _ id: ChannelID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        catchUp(now: now, into: &effects)
        do throws(ClientEventQueue.UnsentReason) {
            let subscription = try usableSubscription(to: name, id)
            statistics.clientEvents.accepted += messages.count
            guard subscription.isSubscribed else {
                statistics.clientEvents.dropped += messages.count
                return
            }
            statistics.clientEvents.dropped += clientEvents.replaceLatest(
                of: eventName,
                on: id,
                with: items(of: messages, on: name, id, latestOf: eventName),
                limit: max(configuration.queuedClientEvents, 1)
            )
            sendClientEvents(now: now, into: &effects)
        } catch {
            refuse(eventName, on: name, error, into: &effects)
        }
    }

    private mutating func refuse(
        _ eventName: String?,
        on name: String,
        _ reason: ClientEventQueue.UnsentReason,
        into effects: inout [Effect]
    ) {
        var error = PusherClientError.unsent(eventName, on: name, reason)
        error.eventName = eventName
        countRefusedClientEvent()
        effects.append(.report(error))
    }

    /// Sends client events, all or none, and ends the wait when they are written. Fails if the channel is not
    /// subscribed.
    package mutating func send(
        _ messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        waiter: WaiterID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        catchUp(now: now, into: &effects)
        do throws(ClientEventQueue.UnsentReason) {
            // Channels that can never be subscribed, or were unsubscribed, are handled below.
            if let subscription = subscriptions[name], subscription.id == id, subscription.hasEvents,
                !subscription.isSubscribed
            {
                throw .notSubscribed
            }
            _ = try enqueue(messages, on: name, id, waiter: waiter)
            guard !messages.isEmpty else { return effects.append(.resume(waiter, .done)) }
            sendWaiters[waiter] = messages.count
            sendClientEvents(now: now, into: &effects)
        } catch {
            countRefusedClientEvent()
            effects.append(.resume(waiter, .failed(.unsent(messages.first?.event ?? "", on: name, error))))
        }
    }

    /// Sends a message that belongs to no channel, and that the machine does not interpret.
    package mutating func sendMessage(_ envelope: Envelope, now: Instant, into effects: inout [Effect]) {
        guard let attempt = connection.establishedAttempt else {
            countUnsentMessage()
            return effects.append(.report(.unsent(envelope)))
        }
        session?.ownMessageSentAt = now
        effects.append(.sendMessage(attempt, envelope))
    }

    /// A client event was handed to the operating system; or was not, because the socket had ended. One that nobody
    /// waits for goes out on the next subscription then.
    ///
    /// - Parameter mayHaveArrived: Whether it was sent in spite of the error, so that it must not be sent again.
    package mutating func clientEventWritten(
        _ item: ClientEventQueue.Item,
        on attempt: AttemptID,
        error: PusherClientError?,
        mayHaveArrived: Bool = false,
        now: Instant,
        into effects: inout [Effect]
    ) {
        if error == nil {
            statistics.clientEvents.sent += 1
        } else if item.waiter != nil || item.latestOf != nil {
            statistics.clientEvents.dropped += 1
        }
        if let waiter = item.waiter {
            guard let count = sendWaiters[waiter] else { return }
            if let error {
                sendWaiters[waiter] = nil
                statistics.clientEvents.dropped += clientEvents.removeItems(of: waiter)
                return effects.append(.resume(waiter, .failed(error)))
            }
            sendWaiters[waiter] = count > 1 ? count - 1 : nil
            if count == 1 { effects.append(.resume(waiter, .done)) }
            return
        }
        guard let error, item.latestOf == nil else { return }
        guard !mayHaveArrived, let subscription = subscriptions[item.name], subscription.id == item.channel,
            subscription.isWanted
        else {
            statistics.clientEvents.dropped += 1
            return effects.append(.report(error))
        }
        clientEvents.takeBack(item)
        // The result may be older than the next subscription.
        if subscription.isSubscribed, connection.establishedAttempt != attempt,
            clientEvents.channelSubscribed(item.channel)
        {
            sendClientEvents(now: now, into: &effects)
        }
    }

    /// Returns true if it can be sent as soon as the limit allows it.
    private mutating func enqueue(
        _ messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        waiter: WaiterID?
    ) throws(ClientEventQueue.UnsentReason) -> Bool {
        guard !messages.isEmpty else { return false }
        let subscription = try usableSubscription(to: name, id)
        let waiting = clientEvents.count(of: id)
        guard messages.count <= max(configuration.queuedClientEvents, 1) - waiting else {
            throw .full(waiting: waiting, partCount: messages.count, limit: configuration.queuedClientEvents)
        }
        for item in items(of: messages, on: name, id, waiter: waiter) {
            clientEvents.append(item, isReady: subscription.isSubscribed)
        }
        statistics.clientEvents.accepted += messages.count
        return subscription.isSubscribed
    }

    /// The subscription, if the app has not unsubscribed, and the name is one that can be subscribed.
    private func usableSubscription(
        to name: String,
        _ id: ChannelID
    ) throws(ClientEventQueue.UnsentReason) -> SubscriptionStateMachine {
        guard let subscription = subscriptions[name], subscription.id == id, subscription.isWanted else {
            throw .unsubscribed
        }
        if case .invalid(let error) = subscription.phase { throw .invalidChannel(error) }
        return subscription
    }

    private func items(
        of messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        waiter: WaiterID? = nil,
        latestOf eventName: String? = nil
    ) -> [ClientEventQueue.Item] {
        messages.enumerated().map { index, message in
            ClientEventQueue.Item(
                channel: id,
                name: name,
                envelope: Envelope(event: message.event, channel: name, data: message.data),
                waiter: waiter,
                latestOf: eventName,
                isLaterPart: index > 0
            )
        }
    }

    /// Sends what may go out now.
    mutating func sendClientEvents(now: Instant, into effects: inout [Effect]) {
        guard let attempt = connection.establishedAttempt else { return }
        let (items, wait) = clientEvents.next(limit: configuration.clientEventsPerSecond, now: now)
        for item in items { effects.append(.sendClientEvent(attempt, item)) }
        if let wait, !timers.isRunning(.clientEvents) { timers.set(.clientEvents, after: wait, into: &effects) }
    }

    /// Drops events that a call waits for, or of which only the newest counts. The others are sent when their channel
    /// is subscribed again.
    mutating func loseClientEvents(into effects: inout [Effect]) {
        timers.cancel(.clientEvents, into: &effects)
        failClientEvents(clientEvents.connectionLost(), .connectionLost, into: &effects)
    }

    /// The same for one channel, which is subscribed again.
    mutating func loseClientEvents(of id: ChannelID, into effects: inout [Effect]) {
        failClientEvents(clientEvents.subscriptionLost(id), .subscriptionLost, into: &effects)
    }

    /// Drops the events of a channel object that goes out of use.
    mutating func dropClientEvents(of id: ChannelID, into effects: inout [Effect]) {
        failClientEvents(clientEvents.remove(id), .channelDropped, into: &effects)
    }

    private mutating func failClientEvents(
        _ items: [ClientEventQueue.Item],
        _ reason: ClientEventQueue.UnsentReason,
        into effects: inout [Effect]
    ) {
        statistics.clientEvents.dropped += items.count
        for item in items {
            let error = PusherClientError.unsent(nil, on: item.name, reason)
            if let waiter = item.waiter {
                if sendWaiters.removeValue(forKey: waiter) != nil { effects.append(.resume(waiter, .failed(error))) }
            } else if item.latestOf == nil {
                effects.append(.report(error))
            }
        }
    }

    /// The channel that the message names, if it accepts client events.
    func clientEventChannel(named message: ServerErrorMessage) -> String? {
        message.channelNamed { subscriptions[$0]?.sendsClientEvents == true }
    }

    /// Handles that the server rejected a client event. The server seldom says on which channel.
    mutating func clientEventRejected(
        _ message: ServerErrorMessage,
        named name: String?,
        into effects: inout [Effect]
    ) {
        // Some servers send no channel. Then a word of the message may name the channel.
        let name = name ?? clientEventChannel(named: message) ?? clientEvents.onlyRecentChannel
        statistics.clientEvents.rejectedByServer += 1
        let error = message.clientError(.clientEventRejected, channelName: name)
        effects.append(.report(error))
        guard let name, let subscription = subscriptions[name], subscription.isWanted else { return }
        let event = Envelope(event: EventName.error, channel: name, data: .string(message.jsonText))
        effects.append(.deliver(.channel(subscription.id), event))
    }
}
