/// The channels that the app has subscribed to, whether or not the server has confirmed them. New code finds a channel
/// with ``Pusher/channel(_:)``.
public final class PusherChannels: Sendable {
    let engine: ClientEngine

    init(engine: ClientEngine) { self.engine = engine }

    /// The channels by name. If names differ only in their Unicode normalization, the dictionary has one of the channels.
    public var channels: [String: PusherChannel] {
        engine.read { state in
            Dictionary(
                state.machine.subscriptions.values.compactMap { subscription in
                    subscription.isWanted ? state.channels[subscription.id].map { (subscription.name, $0) } : nil
                },
                // Names of different bytes can be equal as strings.
                uniquingKeysWith: { first, _ in first }
            )
        }
    }

    /// Returns the channel of that name; nil if the app is not subscribed to it.
    public func find(name: String) -> PusherChannel? {
        engine.read { $0.channel(named: name) }
    }

    /// Returns the presence channel of that name; nil if the app is not subscribed to it, or if the channel is of
    /// another type.
    public func findPresence(name: String) -> PusherPresenceChannel? { find(name: name) as? PusherPresenceChannel }
}

extension ClientEngine.State {
    /// Returns the object of a channel, and creates it if there is none. The engine does not keep the object of a
    /// channel that exceeds the limit of channels.
    mutating func channel(
        of result: ClientStateMachine.SubscribeResult,
        _ make: () -> PusherChannel
    ) -> (channel: PusherChannel, isNew: Bool) {
        if let channel = channels[result.id] { return (channel, false) }
        let channel = make()
        if result.error == nil { channels[result.id] = channel }
        return (channel, true)
    }

    /// Returns the channel that the app has subscribed to under that name.
    func channel(named name: String) -> PusherChannel? {
        guard let subscription = machine.subscriptions[name], subscription.isWanted else { return nil }
        return channels[subscription.id]
    }
}

extension PusherChannels: Hashable {
    /// Returns whether both values are the same list object.
    public static func == (left: PusherChannels, right: PusherChannels) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
