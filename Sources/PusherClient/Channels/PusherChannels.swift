/// The channels that the app has subscribed to, whether or not the server has confirmed them. New code finds a channel
/// with ``Pusher/channel(_:)``.
public final class PusherChannels: Sendable {
    let engine: ClientEngine

    init(engine: ClientEngine) { self.engine = engine }

    /// The channels by name.
    public var channels: [String: PusherChannel] {
        engine.read { state in
            Dictionary(
                uniqueKeysWithValues: state.machine.subscriptions.values.compactMap { subscription in
                    subscription.isWanted ? state.channels[subscription.id].map { (subscription.name, $0) } : nil
                }
            )
        }
    }

    /// The channel of that name; nil if the app is not subscribed to it.
    public func find(name: String) -> PusherChannel? {
        engine.read { $0.channel(named: name) }
    }

    /// The presence channel of that name; nil if the app is not subscribed to it, or if it is not a presence channel.
    public func findPresence(name: String) -> PusherPresenceChannel? { find(name: name) as? PusherPresenceChannel }
}

extension ClientEngine.State {
    /// The object of a channel, which is created if there is none. An object of a channel that cannot be subscribed is
    /// not kept.
    mutating func channel(
        of result: ClientStateMachine.SubscribeResult,
        _ make: () -> PusherChannel
    ) -> (channel: PusherChannel, isNew: Bool) {
        if let channel = channels[result.id] { return (channel, false) }
        let channel = make()
        if result.error == nil { channels[result.id] = channel }
        return (channel, true)
    }

    /// The channel that the app has subscribed to under that name.
    func channel(named name: String) -> PusherChannel? {
        guard let subscription = machine.subscriptions[name], subscription.isWanted else { return nil }
        return channels[subscription.id]
    }
}

extension PusherChannels: Hashable {
    /// They are equal if they are the same object.
    public static func == (left: PusherChannels, right: PusherChannels) -> Bool { left === right }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
