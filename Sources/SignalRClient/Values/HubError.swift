/// An error whose message the client sends to the server. Throw the error in a handler that returns a result to the
/// server.
///
/// After any other error, the server learns only that the handler failed, because messages may contain secrets.
public struct HubError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message for the server.
    public var message: String

    /// Creates an error.
    public init(_ message: String) { self.message = message }

    /// The message.
    public var description: String { message }

    static func message(for error: any Error) -> String {
        switch error {
        case let error as HubError: error.message
        case let error as SignalRClientError where error.code == .decodingFailed:
            "The arguments do not fit the client's handler."
        default: "The client's handler failed."
        }
    }
}
