import PusherProtocol

/// Subscribing and unsubscribing.
extension ServerBrain {
    mutating func subscribe(_ message: Envelope, on id: ConnectionID) {
        let data = message.data.value
        guard let channel = data?["channel"]?.string else {
            return reportInvalidMessage("A subscription needs a \"channel\" that is a string", on: id)
        }
        if let fault = subscriptionFault(of: channel) { return answer(channel, with: fault, on: id) }
        if channel.utf8.starts(with: ChannelName.serverToUserPrefix.utf8) {
            return subscribeToUserChannel(channel, on: id)
        }
        guard let name = try? ChannelName(channel) else {
            let message = "Invalid channel name: \(shortened(channel))"
            let refusal = SubscriptionRefusal(message: message, type: nil, status: 4009)
            return refuseSubscription(to: channel, refusal, on: id)
        }
        guard !isSubscribed(id, to: channel) else { return answerDuplicate(channel, on: id) }
        do throws(SubscriptionRefusal) {
            if name.kind.requiresAuthorization { try checkAuthorization(of: id, for: channel, data) }
            let isPresence = name.kind.base == .presence
            let member = isPresence ? try presenceMember(of: id, on: channel, data) : nil
            if member?.isNumber == true, dialect.presence.refusesNumericIDs {
                return refuseNumericID(on: channel, id)
            }
            addSubscription(to: channel, on: id)
            if let member {
                join(channel, as: member, on: id)
            } else {
                say(dialect.subscriptionSucceeded(channel: channel), to: id)
            }
        } catch {
            return refuseSubscription(to: channel, error, on: id)
        }
        replayCache(of: channel, to: id)
        announceCount(of: channel)
    }

    mutating func addSubscription(to channel: String, on id: ConnectionID) {
        connections[id]?.channels.append(channel)
        subscribers[channel, default: []].append(id)
        record(.subscribed(channel: channel), id)
        if subscribers[channel]?.count == 1 { noteOccupied(channel) }
    }

    mutating func unsubscribe(_ message: Envelope, on id: ConnectionID) {
        guard let channel = message.data.value?["channel"]?.string else {
            return reportInvalidMessage("Unsubscribing needs a \"channel\" that is a string", on: id)
        }
        guard isSubscribed(id, to: channel) else {
            guard dialect.reportsUnknownUnsubscription else { return }
            let text = "No current subscription to channel \(shortened(channel)), or subscription in progress"
            return say(dialect.error(code: nil, message: text), to: id)
        }
        record(.unsubscribed(channel: channel), id)
        removeSubscription(to: channel, from: id)
    }

    mutating func removeSubscription(to channel: String, from id: ConnectionID) {
        connections[id]?.channels.remove(channel)
        subscribers[channel]?.removeAll { $0 == id }
        leavePresence(channel, on: id)
        if subscribers[channel]?.isEmpty == true {
            subscribers[channel] = nil
            noteVacated(channel)
        }
        announceCount(of: channel)
    }

    private mutating func announceCount(of channel: String) {
        let isCounted =
            ChannelKind(ofChannelNamed: channel).base != .presence
            && !channel.utf8.starts(with: ChannelName.serverToUserPrefix.utf8)
        guard options.sendsSubscriptionCounts, isCounted else { return }
        noteSubscriptionCount(subscriptionCount(of: channel), of: channel)
        guard let ids = subscribers[channel] else { return }
        let text = dialect.subscriptionCount(channel: channel, count: ids.count)
        for id in ids { say(text, to: id) }
    }

    mutating func answerDuplicate(_ channel: String, on id: ConnectionID) {
        switch dialect.duplicateSubscription {
        case .error: say(dialect.error(code: nil, message: "Existing subscription to channel \(channel)"), to: id)
        case .success:
            let members = members[channel]
            let text = members.map { dialect.subscriptionSucceeded(channel: channel, members: $0) }
            say(text ?? dialect.subscriptionSucceeded(channel: channel), to: id)
        case .nothing: break
        }
    }

    mutating func refuseSubscription(to channel: String, _ refusal: SubscriptionRefusal, on id: ConnectionID) {
        let channel = shortened(channel)
        record(.subscriptionRefused(channel: channel, message: refusal.message), id)
        switch dialect.subscriptionRefusal {
        case .error:
            say(dialect.error(code: nil, message: refusal.message), to: id)
        case .unauthorized:
            say(dialect.error(code: 4009, message: "Connection is unauthorized"), to: id)
        case .subscriptionError:
            let text = dialect.subscriptionError(
                channel: channel,
                type: refusal.type,
                message: refusal.message,
                status: refusal.status
            )
            say(text, to: id)
        case .internalSubscriptionError:
            say(dialect.internalSubscriptionError(channel: channel), to: id)
        }
    }

    private mutating func refuseNumericID(on channel: String, _ id: ConnectionID) {
        let message = "Generic reconnect immediately"
        record(.subscriptionRefused(channel: channel, message: message), id)
        say(dialect.error(code: 4200, message: message), to: id)
    }

    private mutating func answer(
        _ channel: String,
        with fault: PusherTestServer.SubscriptionFault,
        on id: ConnectionID
    ) {
        switch fault {
        case .unanswered:
            break
        case .error(let code, let message):
            say(dialect.error(code: code, message: message), to: id)
        case .subscriptionError(let type, let message, let status):
            let text = dialect.subscriptionError(channel: channel, type: type, message: message, status: status)
            say(text, to: id)
        case .text(let text):
            if fault.isSuccess(of: channel), !isSubscribed(id, to: channel) {
                addSubscription(to: channel, on: id)
            }
            say(text, to: id)
        }
    }

    /// Shortens an invalid name, which may have any length.
    private func shortened(_ channel: String) -> String { String(channel.prefix(ChannelName.maximumLength)) }
}

extension PusherTestServer.SubscriptionFault {
    /// Returns whether the fault confirms a subscription to the channel.
    func isSuccess(of channel: String) -> Bool {
        guard case .text(let text) = self, let message = try? Envelope(decoding: text) else { return false }
        return message.event == EventName.subscriptionSucceededInternal && message.channel == channel
    }
}
