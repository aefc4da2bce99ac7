public import Foundation

#if canImport(FoundationNetworking)
    @_exported public import FoundationNetworking
#endif

/// The calls of a client to its delegate. A PusherSwift protocol: new code has ``Pusher/statuses``, ``Pusher/errors``
/// and ``PusherChannel/subscribed(timeout:)``.
///
/// All methods are optional, and are called on the callback queue
/// (``PusherClientOptions/callbackQueue``, by default the main queue).
@preconcurrency public protocol PusherDelegate: AnyObject, Sendable {
    /// A line for a debug log. It holds no secrets.
    func debugLog(message: String)
    /// The connection's state changed.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// A channel is subscribed, or subscribed again after a loss.
    func subscribedToChannel(name: String)
    /// A channel could not be subscribed.
    ///
    /// - Parameters:
    ///   - name: The channel.
    ///   - response: The answer to the authorization request, if there was one.
    ///   - data: The body of that answer, if it was a refusal.
    ///   - error: What went wrong. The ``SubscriptionError`` is under `NSUnderlyingErrorKey` of its `userInfo`.
    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?)
    /// An event of an encrypted channel could not be decrypted, even with a fresh key. Later events are delivered as
    /// usual.
    ///
    /// - Parameters:
    ///   - eventName: The event.
    ///   - channelName: The channel.
    ///   - data: The encrypted data. ``Pusher/errors`` and the log say why it cannot be read.
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
    /// Something went wrong. It gets everything that ``Pusher/errors`` gets, except failed subscriptions and
    /// undecryptable events, which have their own methods.
    func receivedError(error: PusherError)
}

extension PusherDelegate {
    /// Does nothing.
    public func debugLog(message: String) {}
    /// Does nothing.
    public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
    /// Does nothing.
    public func subscribedToChannel(name: String) {}
    /// Does nothing.
    public func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {}
    /// Does nothing.
    public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
    /// Does nothing.
    public func receivedError(error: PusherError) {}
}
