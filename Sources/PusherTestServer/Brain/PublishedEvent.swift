import PusherProtocol

/// An event for subscribers, checked against the rules of the REST API.
package struct PublishedEvent: Hashable, Sendable {
    package let name: String
    package let data: String
    package let channels: [String]
    /// The connection that does not get the event.
    package let socketID: String?

    /// The maximum number of channels in one request.
    static let maximumChannelCount = 100

    package init(name: String, data: String, channels: [String], socketID: String? = nil)
        throws(PusherTestServer.ServerError)
    {
        guard !name.isEmpty, name.utf8.count <= EventName.maximumLength else {
            throw Self.error("the name must have 1 to \(EventName.maximumLength) bytes")
        }
        guard (1...Self.maximumChannelCount).contains(channels.count) else {
            throw Self.error("it names \(channels.count) channels, but 1 to \(Self.maximumChannelCount) are allowed")
        }
        for channel in channels where !Self.isUserChannel(channel) {
            do {
                _ = try ChannelName(channel)
            } catch {
                throw Self.error("invalid channel name: \(error)")
            }
        }
        if let socketID, !SocketID.isValid(socketID) {
            throw Self.error("the socket id does not have the form 123.456")
        }
        self.name = name
        self.data = data
        self.channels = channels
        self.socketID = socketID
    }

    private static func error(_ message: String) -> PusherTestServer.ServerError {
        .init(.invalidEvent, "Invalid event: \(message).")
    }

    /// Returns whether the channel is a user's own channel.
    private static func isUserChannel(_ channel: String) -> Bool {
        let prefix = ChannelName.serverToUserPrefix.utf8
        let lengths = prefix.count + 1...prefix.count + UserID.maximumLength
        return channel.utf8.starts(with: prefix) && lengths.contains(channel.utf8.count)
    }
}

extension ServerBrain {
    /// Relays events to the subscribers of their channels, oldest subscription first.
    package mutating func publish(_ events: PublishedEvent...) -> [ServerAction] { publish(events) }

    package mutating func publish(_ events: [PublishedEvent]) -> [ServerAction] {
        var reached: Set<ConnectionID> = []
        return publish(events, reaching: &reached)
    }

    /// - Parameter reached: Collects the connections that get an event.
    mutating func publish(_ events: [PublishedEvent], reaching reached: inout Set<ConnectionID>) -> [ServerAction] {
        for event in events { reached.formUnion(relay(event)) }
        return takeActions()
    }

    /// - Returns: The connections that get the event.
    @discardableResult
    mutating func relay(_ event: PublishedEvent) -> Set<ConnectionID> {
        var reached: Set<ConnectionID> = []
        for channel in event.channels {
            keep(event, on: channel)
            let ids = (subscribers[channel] ?? []).filter { socketID(of: $0) != event.socketID }
            let hearing = ids.filter(canHear)
            record(.eventPublished(name: event.name, channel: channel, connectionCount: hearing.count))
            guard !hearing.isEmpty else { continue }
            let text = dialect.text(Envelope(event: event.name, channel: channel, data: .string(event.data)))
            for id in hearing { say(text, to: id) }
            reached.formUnion(hearing)
        }
        return reached
    }
}
