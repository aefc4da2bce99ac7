import Foundation
import NIOCore
import RealtimeNetworking

/// Converts failures of open connections to this package's errors.
enum ConnectionFailure {
    private static func tls(with request: WebSocketRequest, _ failure: TLSFailure) -> WebSocketError {
        WebSocketError(
            .tlsFailed,
            "TLS with '\(request.hostWithoutBrackets)', port \(request.port), failed: \(failure.message).",
            cause: failure
        )
    }

    /// Makes the error for a connection that was lost before the server answered the upgrade.
    static func upgrading(_ request: WebSocketRequest, _ error: (any Error)?) -> WebSocketError {
        if let failure = TLSFailure.established(error) { return tls(with: request, failure) }
        return WebSocketError(
            .upgradeFailed,
            """
            WebSocket upgrade failed: the connection was lost before the server \
            answered\(DialFailure.systemReason(error)).
            """,
            cause: error
        )
    }

    /// Makes the error for a connection that was lost without a close frame.
    static func lost(_ request: WebSocketRequest, _ error: (any Error)?) -> WebSocketError {
        if let failure = TLSFailure.established(error) { return tls(with: request, failure) }
        return WebSocketError(
            .connectionClosed,
            "Connection lost: the server sent no close frame\(DialFailure.systemReason(error)).",
            cause: error
        )
    }

    /// Makes the error for a server that did not answer the close frame.
    static func unanswered() -> WebSocketError {
        WebSocketError(.connectionClosed, "Connection closed: the server did not answer the closing handshake in time.")
    }

    /// Makes the error for a message that cannot be sent because the connection is not open.
    static func notOpen(_ error: (any Error)? = nil) -> WebSocketError {
        WebSocketError(.connectionClosed, "Message not sent: the connection is not open.", cause: error)
    }
}
