#if canImport(FoundationNetworking)
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// Answers authorization requests with a completion handler. In new code ``AuthMethod/authorizer(_:)`` is simpler, and
/// can say what went wrong.
@preconcurrency public protocol Authorizer: Sendable {
    /// Called once for each try, on a dispatch queue where it may block; for several channels at once, on several
    /// threads.
    ///
    /// - Parameters:
    ///   - socketID: The id of the connection. The signature holds for no other.
    ///   - channelName: The channel.
    ///   - completionHandler: Takes the answer, or nil if there is none. It may be called on any thread; the first
    ///     call counts, and later ones do nothing. If none comes, the authorization ends after
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
    /// The request for one channel. Called once for each try, so that every try can carry a fresh token, on a dispatch
    /// queue where it may block; for several channels at once, on several threads.
    ///
    /// Method, headers, `httpBody` or `httpBodyStream`, and `timeoutInterval` are used. A `timeoutInterval` can only
    /// shorten ``PusherTimeouts/authorization``, the limit of the whole try. It is ignored if it is 60 seconds, the
    /// default of `URLRequest`, or not positive. A body without a `Content-Type` gets
    /// `application/x-www-form-urlencoded`.
    ///
    /// - Returns: The request, or nil if none can be made: the subscription fails then. The default gives nil.
    func requestFor(socketID: String, channelName: String) -> URLRequest?
}

extension AuthRequestBuilderProtocol {
    /// Makes no request.
    public func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
}
