/// PusherSwift's names for Objective-C, which Swift code uses too.
extension Pusher {
    /// Creates a client, as ``init(key:options:)`` does.
    @available(*, deprecated, renamed: "init(key:options:)")
    public convenience init(withAppKey key: String, options: PusherClientOptions) {
        self.init(key: key, options: options)
    }

    /// Creates a client with the options' defaults, as ``init(key:options:)`` does.
    @available(*, deprecated, renamed: "init(key:)")
    public convenience init(withKey key: String) { self.init(key: key) }

    /// Subscribes to a channel, as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``
    /// does. Only the argument label differs.
    @discardableResult
    public func subscribe(channelName: String) -> PusherChannel { subscribe(channelName) }

    /// Subscribes to a channel, as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``
    /// does. Only the argument label differs.
    @preconcurrency @discardableResult
    public func subscribe(
        channelName: String,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)? = nil
    ) -> PusherChannel {
        subscribe(
            channelName,
            auth: nil,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
    }

    /// Subscribes to a presence channel, as
    /// ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` does.
    @discardableResult
    public func subscribeToPresenceChannel(channelName: String) -> PusherPresenceChannel {
        subscribeToPresenceChannel(channelName: channelName, auth: nil)
    }

    /// Subscribes to a presence channel, as
    /// ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)`` does.
    @preconcurrency @discardableResult
    public func subscribeToPresenceChannel(
        channelName: String,
        onMemberAdded: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onMemberRemoved: (@Sendable (PusherPresenceChannelMember) -> Void)?,
        onSubscriptionCountChanged: (@Sendable (Int) -> Void)?
    ) -> PusherPresenceChannel {
        subscribeToPresenceChannel(
            channelName: channelName,
            auth: nil,
            onMemberAdded: onMemberAdded,
            onMemberRemoved: onMemberRemoved,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
    }
}
