import RealtimePrimitives

/// The reason why a connection failed, or why options are invalid. The public errors of PusherClient and
/// WebSocketClient have codes with the same names.
package struct NetworkError: Hashable, Sendable {
    /// The kind of the error. The raw values are the same as in the codes of the public errors.
    package enum Code: String, Sendable {
        case invalidOption
        case invalidHost
        case invalidPort
        case invalidProxy
        case nameResolutionFailed
        case connectionFailed
        case tlsFailed
        case pinMismatch
        case proxyFailed
    }

    package var code: Code
    package var message: String
    package var cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.message == right.message
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(code)
        hasher.combine(message)
    }
}

extension NetworkError: ExplainedError, CustomStringConvertible {
    package var description: String { "\(code): \(message)" }
}
