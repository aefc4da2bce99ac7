/// The names that PusherSwift has for Objective-C, which Swift code uses too.
extension Pusher {
    /// Makes a client, as ``init(key:options:)`` does.
    @available(*, deprecated, renamed: "init(key:options:)")
    public convenience init(withAppKey key: String, options: PusherClientOptions) {
        self.init(key: key, options: options)
    }

    /// Makes a client with the options' defaults, as ``init(key:options:)`` does.
    @available(*, deprecated, renamed: "init(key:)")
    public convenience init(withKey key: String) { self.init(key: key) }

    /// The same as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``, with a label.
    @discardableResult
    public func subscribe(channelName: String) -> PusherChannel { subscribe(channelName) }

    /// The same as ``subscribe(_:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``, with a label.
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

    /// The same as
    /// ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
    @discardableResult
    public func subscribeToPresenceChannel(channelName: String) -> PusherPresenceChannel {
        subscribeToPresenceChannel(channelName: channelName, auth: nil)
    }

    /// The same as
    /// ``subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``.
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
