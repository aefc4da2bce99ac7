#if canImport(FoundationNetworking)
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Answers authorization requests with a completion handler. In new code ``AuthMethod/authorizer(_:)`` is simpler, and
/// can say what went wrong.
@preconcurrency public protocol Authorizer: Sendable {
    /// Called once for each try, on a dispatch queue, where it may block. For several channels, it is called at the
    /// same time on several threads.
    ///
    /// - Parameters:
    ///   - socketID: The id of the connection. The signature is valid for no other.
    ///   - channelName: The channel.
    ///   - completionHandler: Takes the answer, or nil if there is none. It may be called on any thread. The first call
    ///     counts, and later ones do nothing. If it is never called, the authorization times out after
    ///     ``PusherTimeouts/authorization``.
    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    )
}

/// Makes the requests that the client sends to an authorization endpoint. New code uses an ``AuthEndpoint``, whose providers can
/// wait for a fresh token.
@preconcurrency public protocol AuthRequestBuilderProtocol: Sendable {
    /// The request for one channel. Called once for each try, so that every try can carry a fresh token. It runs on a
    /// dispatch queue, where it may block, and for several channels at the same time on several threads.
    ///
    /// Method, headers, `httpBody` or `httpBodyStream`, and `timeoutInterval` are used. A `timeoutInterval` can only
    /// shorten ``PusherTimeouts/authorization``, the limit of the whole try. It is ignored if it is 60 seconds, the
    /// default of `URLRequest`, or not positive. A body without a `Content-Type` gets
    /// `application/x-www-form-urlencoded`.
    ///
    /// - Returns: The request. Nil fails the subscription. The default implementation returns nil.
    func requestFor(socketID: String, channelName: String) -> URLRequest?
}

extension AuthRequestBuilderProtocol {
    /// Makes no request.
    public func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
}
