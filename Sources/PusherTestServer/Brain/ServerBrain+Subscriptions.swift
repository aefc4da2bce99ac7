import PusherProtocol

/// Subscribing and unsubscribing.
extension ServerBrain {
    mutating func subscribe(_ message: Envelope, on id: ConnectionID) {
        guard let channel = message.data.value?["channel"]?.string else {
            return reportInvalidMessage("A subscription needs a \"channel\" that is a string", on: id)
        }
        if let fault = subscriptionFaults[channel] { return answer(channel, with: fault, on: id) }
        guard let name = try? ChannelName(channel) else {
            return refuseSubscription(to: channel, message: "Invalid channel name: \(shortened(channel))", on: id)
        }
        guard !isSubscribed(id, to: channel) else { return answerDuplicate(channel, on: id) }
        guard !name.kind.requiresAuthorization else {
            return refuseSubscription(to: channel, message: "Auth info required to subscribe to \(channel)", on: id)
        }
        connections[id]?.channels.append(channel)
        subscribers[channel, default: []].append(id)
        record(.subscribed(channel: channel), id)
        say(dialect.subscriptionSucceeded(channel: channel), to: id)
        announceCount(of: channel)
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
        connections[id]?.channels.removeAll { $0 == channel }
        subscribers[channel]?.removeAll { $0 == id }
        if subscribers[channel]?.isEmpty == true { subscribers[channel] = nil }
        announceCount(of: channel)
    }

    private mutating func announceCount(of channel: String) {
        guard options.sendsSubscriptionCounts, let ids = subscribers[channel] else { return }
        let text = dialect.subscriptionCount(channel: channel, count: ids.count)
        for id in ids { say(text, to: id) }
    }

    private mutating func answerDuplicate(_ channel: String, on id: ConnectionID) {
        switch dialect.duplicateSubscription {
        case .error: say(dialect.error(code: nil, message: "Existing subscription to channel \(channel)"), to: id)
        case .success: say(dialect.subscriptionSucceeded(channel: channel), to: id)
        case .nothing: break
        }
    }

    private mutating func refuseSubscription(to channel: String, message: String, on id: ConnectionID) {
        let channel = shortened(channel)
        switch dialect.subscriptionRefusal {
        case .error:
            say(dialect.error(code: nil, message: message), to: id)
        case .unauthorized:
            say(dialect.error(code: 4009, message: "Connection is unauthorized"), to: id)
        case .subscriptionError:
            let text = dialect.subscriptionError(channel: channel, type: "AuthError", message: message, status: 401)
            say(text, to: id)
        case .internalSubscriptionError:
            say(dialect.internalSubscriptionError(channel: channel), to: id)
        }
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
        }
    }

    /// A name that breaks the rules may be of any length.
    private func shortened(_ channel: String) -> String { String(channel.prefix(ChannelName.maximumLength)) }
}
