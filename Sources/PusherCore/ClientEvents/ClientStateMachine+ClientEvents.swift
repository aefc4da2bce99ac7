import PusherProtocol

/// Handles client events (protocol clause 5).
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
        if let reason = enqueue(messages, on: name, id, waiter: nil) {
            return reject(messages.first?.event, on: name, reason, into: &effects)
        }
        sendClientEvents(now: now, into: &effects)
    }

    /// Sends client events that replace waiting events with the same name. If the channel is not subscribed, the
    /// machine drops the events. If the app has unsubscribed, or if the channel can never be subscribed, the machine
    /// reports an error.
    ///
    /// - Parameter eventName: The event's name before the app's transformer was called.
    package mutating func sendLatest(
        _ messages: [ClientEventQueue.Message],
        of eventName: String,
        on name: String,
        _ id: ChannelID,
        now: Instant,
        into effects: inout [Effect]
    ) {
        catchUp(now: now, into: &effects)
        if let reason = obstacle(on: name, id) { return reject(eventName, on: name, reason, into: &effects) }
        statistics.clientEvents.accepted += messages.count
        guard subscriptions[name]?.isSubscribed == true else {
            statistics.clientEvents.dropped += messages.count
            return
        }
        let items = items(of: messages, on: name, id, latestOf: eventName)
        statistics.clientEvents.dropped += clientEvents.replaceLatest(
            of: eventName,
            on: id,
            with: items,
            limit: max(configuration.queuedClientEvents, 1)
        )
        sendClientEvents(now: now, into: &effects)
    }

    private mutating func reject(
        _ eventName: String?,
        on name: String,
        _ reason: ClientEventQueue.UnsentReason,
        into effects: inout [Effect]
    ) {
        countRejectedClientEvent()
        effects.append(.report(.unsent(eventName, on: name, reason)))
    }

    /// Sends client events, all or none, and ends the call's wait when they are written. Fails if the channel is not
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
        // `enqueue` handles channels that can never be subscribed, or were unsubscribed.
        var reason: ClientEventQueue.UnsentReason?
        if let subscription = subscriptions[name], subscription.id == id, subscription.takesEvents,
            !subscription.isSubscribed
        {
            reason = .notSubscribed
        } else {
            reason = enqueue(messages, on: name, id, waiter: waiter)
        }
        if let reason {
            countRejectedClientEvent()
            return effects.append(.resume(waiter, .failed(.unsent(messages.first?.event, on: name, reason))))
        }
        guard !messages.isEmpty else { return effects.append(.resume(waiter, .done)) }
        sendWaiters[waiter] = messages.count
        sendClientEvents(now: now, into: &effects)
    }

    /// Handles the result of writing a client event. If the connection was lost before the event was written, the
    /// client sends the event after the next subscription, unless a call waits for the event or a newer event would
    /// replace it. The client does not send an unanswered event again, because the event may have arrived.
    package mutating func clientEventWritten(
        _ item: ClientEventQueue.Item,
        on attempt: AttemptID,
        error: PusherClientError?,
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
        guard error.code != .unanswered, let subscription = subscriptions[item.name], subscription.id == item.channel,
            subscription.isWanted, clientEvents.putBack(item)
        else {
            statistics.clientEvents.dropped += 1 + clientEvents.loseParts(after: item)
            return effects.append(.report(error))
        }
        // The client may have subscribed again before this result arrived.
        if subscription.isSubscribed, connection.establishedAttempt != attempt,
            clientEvents.channelSubscribed(item.channel)
        {
            sendClientEvents(now: now, into: &effects)
        }
    }

    /// Queues client events. Returns the reason if the client cannot send the events, or `nil` if they are in the
    /// queue.
    private mutating func enqueue(
        _ messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        waiter: WaiterID?
    ) -> ClientEventQueue.UnsentReason? {
        guard !messages.isEmpty else { return nil }
        if let reason = obstacle(on: name, id) { return reason }
        let waiting = clientEvents.count(of: id)
        guard messages.count <= max(configuration.queuedClientEvents, 1) - waiting else {
            return .full(waiting: waiting, partCount: messages.count, limit: configuration.queuedClientEvents)
        }
        let isSubscribed = subscriptions[name]?.isSubscribed == true
        for item in items(of: messages, on: name, id, waiter: waiter) {
            clientEvents.append(item, isReady: isSubscribed)
        }
        statistics.clientEvents.accepted += messages.count
        return nil
    }

    /// Returns a reason if the app has unsubscribed, or if the name can never be subscribed.
    private func obstacle(on name: String, _ id: ChannelID) -> ClientEventQueue.UnsentReason? {
        guard let subscription = subscriptions[name], subscription.id == id, subscription.isWanted else {
            return .unsubscribed
        }
        if case .invalid(let error) = subscription.phase { return .invalidChannel(error) }
        return nil
    }

    private mutating func items(
        of messages: [ClientEventQueue.Message],
        on name: String,
        _ id: ChannelID,
        waiter: WaiterID? = nil,
        latestOf eventName: String? = nil
    ) -> [ClientEventQueue.Item] {
        let number = clientEvents.makeNumber()
        return messages.enumerated().map { index, message in
            ClientEventQueue.Item(
                channel: id,
                name: name,
                envelope: Envelope(event: message.event, channel: name, data: message.data),
                waiter: waiter,
                latestOf: eventName,
                number: number,
                part: index
            )
        }
    }

    /// Sends the events that the limit allows now.
    mutating func sendClientEvents(now: Instant, into effects: inout [Effect]) {
        guard let attempt = connection.establishedAttempt else { return }
        let (items, wait) = clientEvents.next(limit: configuration.clientEventsPerSecond, now: now)
        for item in items { effects.append(.sendClientEvent(attempt, item)) }
        if let wait, !timers.isRunning(.clientEvents) { timers.set(.clientEvents, after: wait, into: &effects) }
    }

    /// Handles the loss of the connection. Drops events that a call waits for, and events that a newer event would
    /// replace. All other events are sent when their channel is subscribed again.
    mutating func loseClientEvents(into effects: inout [Effect]) {
        timers.cancel(.clientEvents, into: &effects)
        failClientEvents(clientEvents.connectionLost(), .connectionLost, into: &effects)
    }

    /// Handles the loss of one subscription that the client renews. Drops events that a call waits for, and events that
    /// a newer event would replace.
    mutating func loseClientEvents(of id: ChannelID, into effects: inout [Effect]) {
        failClientEvents(clientEvents.subscriptionLost(id), .subscriptionLost, into: &effects)
    }

    /// Drops the events of a retired channel object.
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
            let error = PusherClientError.unsent(item.envelope.event, on: item.name, reason)
            if let waiter = item.waiter {
                if sendWaiters.removeValue(forKey: waiter) != nil { effects.append(.resume(waiter, .failed(error))) }
            } else if item.latestOf == nil {
                effects.append(.report(error))
            }
        }
    }

    /// Returns the channel that the message names, if this channel accepts client events.
    func clientEventChannel(named message: ServerErrorMessage) -> String? {
        message.channelNamed { subscriptions[$0]?.sendsClientEvents == true }
    }

    /// Handles the server's rejection of a client event.
    mutating func clientEventRejected(
        _ message: ServerErrorMessage,
        named name: String?,
        into effects: inout [Effect]
    ) {
        // Some servers send no channel with the error, but the error's message may contain the channel's name.
        let name = name ?? clientEventChannel(named: message) ?? clientEvents.onlyRecentChannel
        statistics.clientEvents.rejectedByServer += 1
        let error = message.clientError(.clientEventRejected, channelName: name)
        effects.append(.report(error))
        guard let name, let subscription = subscriptions[name], subscription.isWanted else { return }
        let event = Envelope(event: EventName.error, channel: name, data: .string(message.jsonText))
        effects.append(.deliver(.channel(subscription.id), event))
    }
}
