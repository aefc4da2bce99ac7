public import Foundation

/// An error for the delegate, either from the server (`pusher:error`) or from the client. New code reads
/// ``Pusher/errors``.
public final class PusherError: Sendable {
    /// The server's code, if there is one.
    public let code: Int?
    /// The reason for the error, as the server or the client words it.
    public let message: String
    /// The error with all details.
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
    /// Compares the errors in ``clientError``.
    public static func == (left: PusherError, right: PusherError) -> Bool { left.clientError == right.clientError }

    /// Hashes ``clientError``.
    public func hash(into hasher: inout Hasher) { hasher.combine(clientError) }
}

extension PusherError: CustomStringConvertible {
    /// The description of ``clientError``.
    public var description: String { clientError.description }
}
