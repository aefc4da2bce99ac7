import PusherProtocol

/// Events that clients send to each other (protocol clause 5).
extension ServerBrain {
    mutating func relayClientEvent(_ message: Envelope, on id: ConnectionID) {
        guard let channel = message.channel else {
            return rejectClientEvent(message, "a channel is required", on: id)
        }
        if dialect.clientEvents.refusesStrings, case .string = message.data {
            return reportInvalidMessage("The data of a client event must not be a string", on: id)
        }
        let base = ChannelKind(ofChannelNamed: channel).base
        guard base == .private || base == .presence else {
            return rejectClientEvent(message, "only supported on private and presence channels", on: id)
        }
        guard options.acceptsClientEvents else {
            return rejectClientEvent(message, "client events are not enabled for this app", on: id)
        }
        guard isSubscribed(id, to: channel) else {
            let name = Self.shortened(channel)
            return rejectClientEvent(message, "the connection is not subscribed to channel \(name)", on: id)
        }
        guard message.event.utf8.count <= EventName.maximumLength else {
            let limit = EventName.maximumLength
            return rejectClientEvent(message, "the event name exceeds the allowed maximum (\(limit) bytes)", on: id)
        }
        guard message.data.text?.utf8.count ?? 0 <= options.maximumEventDataSize else {
            let limit = options.maximumEventDataSize
            return rejectClientEvent(message, "the data exceeds the allowed maximum (\(limit) bytes)", on: id)
        }
        guard takeClientEventAllowance(of: id) else {
            return rejectClientEvent(message, "you are sending too many messages", on: id)
        }
        let userID = base == .presence ? memberID(of: id, on: channel) : nil
        relay(message, from: id, userID, on: channel)
    }

    /// - Returns: The connections that get the event.
    @discardableResult
    mutating func relay(
        _ message: Envelope,
        from id: ConnectionID,
        _ userID: String?,
        on channel: String
    ) -> Set<ConnectionID> {
        var data = message.data
        if dialect.clientEvents.data == .string, let text = data.text { data = .string(text) }
        let envelope = Envelope(
            event: message.event,
            channel: channel,
            data: data,
            userID: dialect.clientEvents.addsUserID ? userID : nil
        )
        let text = dialect.text(envelope)
        record(.clientEventRelayed(name: message.event, channel: channel), id)
        var reached: Set<ConnectionID> = []
        for other in subscribers[channel] ?? [] where other != id {
            if canHear(other) { reached.insert(other) }
            say(text, to: other)
        }
        noteClientEvent(message, from: socketID(of: id), userID, on: channel)
        return reached
    }

    func memberID(of id: ConnectionID, on channel: String) -> String? {
        members[channel]?.first { $0.connections.contains(id) }?.userID
    }

    /// Counts a client event. Returns false if the connection has already sent the allowed number of events in the last
    /// second.
    private mutating func takeClientEventAllowance(of id: ConnectionID) -> Bool {
        guard let limit = options.clientEventsPerSecond else { return true }
        var times = connections[id]?.clientEventTimes ?? []
        times.removeAll { $0 <= now - .seconds(1) }
        let isAllowed = times.count < limit
        if isAllowed { times.append(now) }
        connections[id]?.clientEventTimes = times
        return isAllowed
    }

    private mutating func rejectClientEvent(_ message: Envelope, _ reason: String, on id: ConnectionID) {
        let channel = message.channel.map { Self.shortened($0) }
        record(.clientEventRejected(name: Self.shortened(message.event), channel: channel), id)
        let named = dialect.clientEvents.errorsNameChannel ? channel : nil
        say(dialect.error(code: 4301, message: "Client event rejected - \(reason)", channel: named), to: id)
    }
}
