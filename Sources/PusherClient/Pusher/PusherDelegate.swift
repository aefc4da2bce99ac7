public import Foundation

#if canImport(FoundationNetworking)
    @_exported public import FoundationNetworking
#endif

/// The methods that a client calls on its delegate. This is a PusherSwift protocol. New code uses ``Pusher/statuses``,
/// ``Pusher/errors`` and ``PusherChannel/subscribed(timeout:)``.
///
/// All methods are optional. The client calls them on the callback queue (``PusherClientOptions/callbackQueue``, by
/// default the main queue).
@preconcurrency public protocol PusherDelegate: AnyObject, Sendable {
    /// Reports a line for a debug log, without secrets.
    func debugLog(message: String)
    /// Reports that the connection's state has changed.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// Reports that a channel is subscribed, or subscribed again after a loss.
    func subscribedToChannel(name: String)
    /// Reports that a channel could not be subscribed.
    ///
    /// - Parameters:
    ///   - name: The name of the channel.
    ///   - response: The answer to the authorization request, if there was one.
    ///   - data: The body of that answer, if it was a refusal or had no usable signature, without secrets.
    ///   - error: The error. The error's `userInfo` contains the ``SubscriptionError`` under the key
    ///     `NSUnderlyingErrorKey`.
    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?)
    /// Reports that the client could not decrypt an event of an encrypted channel. If the known key is wrong, the
    /// client first fetches the key again. The client delivers later events as usual.
    ///
    /// - Parameters:
    ///   - eventName: The event.
    ///   - channelName: The name of the channel.
    ///   - data: The encrypted data. ``Pusher/errors`` and the log contain the reason for the failure.
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
    /// Reports an error. The method gets all errors of ``Pusher/errors``, except failed subscriptions and undecryptable
    /// events, which have their own methods.
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
