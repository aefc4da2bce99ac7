#if canImport(FoundationNetworking)
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// A type that answers authorization requests with a completion handler. New code uses ``AuthMethod/authorizer(_:)``,
/// because its closures are simpler, and can report the reason for a failure.
@preconcurrency public protocol Authorizer: Sendable {
    /// Fetches the authorization of a channel. The client calls this method once for each try, on a dispatch queue,
    /// where the method may block. For several channels, the client calls it on several threads at the same time.
    ///
    /// - Parameters:
    ///   - socketID: The id of the connection. The signature is valid only for this connection.
    ///   - channelName: The name of the channel.
    ///   - completionHandler: A closure that takes the answer, or nil if there is no answer. Your code may call the
    ///     handler on any thread. Only the first call has an effect. Without a call, the authorization times out after
    ///     ``PusherTimeouts/authorization``.
    func fetchAuthValue(
        socketID: String,
        channelName: String,
        completionHandler: @escaping @Sendable (PusherAuth?) -> Void
    )
}

/// A type that makes the requests that the client sends to an authorization endpoint. New code uses an
/// ``AuthEndpoint``, whose providers can wait for a fresh token.
@preconcurrency public protocol AuthRequestBuilderProtocol: Sendable {
    /// Returns the request for one channel. The client calls this method once for each try, so that each try can
    /// contain a fresh token. The method runs on a dispatch queue, and may block. For several channels, it runs on
    /// several threads at the same time.
    ///
    /// The client uses the request's URL, method, headers, body (`httpBody` or `httpBodyStream`) and `timeoutInterval`.
    /// It ignores all other properties. A `timeoutInterval` can only shorten ``PusherTimeouts/authorization``, the
    /// limit of the whole try. The client ignores a `timeoutInterval` of 60 seconds, the default of `URLRequest`, and
    /// values that are not positive. A body without a `Content-Type` gets `application/x-www-form-urlencoded`.
    ///
    /// - Returns: The request. If it is nil, the subscription fails. The default implementation returns nil.
    func requestFor(socketID: String, channelName: String) -> URLRequest?
}

extension AuthRequestBuilderProtocol {
    /// Makes no request.
    public func requestFor(socketID: String, channelName: String) -> URLRequest? { nil }
}
