public import Foundation

/// An error as the delegate gets it: one that the server sent as `pusher:error`, or one of the client's own. New code
/// reads ``Pusher/errors``.
public final class PusherError: Sendable {
    /// The code that the server gave, if it gave one.
    public let code: Int?
    /// The reason.
    public let message: String
    /// The same error with everything that is known of it.
    public let clientError: PusherClientError

    /// ``code``, for Objective-C.
    @available(*, deprecated, renamed: "code")
    public var codeOC: NSNumber? { code.map { NSNumber(value: $0) } }

    init(_ error: PusherClientError) {
        code = error.serverCode
        message = error.message
        clientError = error
    }
}

extension PusherError: Hashable {
    /// Errors are equal if all that is known of them is, but for the cause.
    public static func == (left: PusherError, right: PusherError) -> Bool { left.clientError == right.clientError }

    /// Hashes code and message.
    public func hash(into hasher: inout Hasher) { hasher.combine(clientError) }
}

extension PusherError: CustomStringConvertible {
    /// Message and code.
    public var description: String { clientError.description }
}
