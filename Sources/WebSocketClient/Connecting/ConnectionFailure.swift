import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RealtimeNetworking

/// Converts NIO's failures to this package's errors.
enum ConnectionFailure {
    /// Makes the error for an attempt without a TCP connection.
    static func connecting(
        to request: WebSocketRequest,
        through proxy: ProxyServer?,
        _ error: any Error
    ) -> WebSocketError {
        let what = proxy == nil ? "host" : "proxy"
        let (host, port) = (proxy?.host ?? request.hostWithoutBrackets, proxy?.port ?? request.port)
        let cause: (any Error)?
        switch error {
        case let error as WebSocketError:
            return error
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            return WebSocketError(
                proxy == nil ? .nameResolutionFailed : .proxyFailed,
                "Connection failed: the \(what) '\(host)' could not be resolved.",
                cause: error.dnsAError ?? error.dnsAAAAError
            )
        case let error as NIOConnectionError:
            cause = error.connectionErrors.first?.error ?? error
        default:
            cause = error
        }
        return WebSocketError(
            proxy == nil ? .connectionFailed : .proxyFailed,
            "Connection failed: the \(what) '\(host)', port \(port), was not reached\(reason(cause)).",
            cause: cause
        )
    }

    /// Makes the error for a proxy that did not connect to the server. `status` is the HTTP status of the proxy's
    /// answer.
    static func tunneling(
        to request: WebSocketRequest,
        through proxy: ProxyServer,
        status: HTTPResponseStatus?,
        _ error: (any Error)?
    ) -> WebSocketError {
        let why =
            switch status?.code {
            case nil: "it gave no answer, or an answer that is not HTTP"
            case let code? where (200..<300).contains(code):
                "it answered with HTTP status \(code), but opened no tunnel"
            case 407?: "it \(proxy.reasonForRefusingCredentials)"
            case let code?: "it answered with HTTP status \(code)"
            }
        return WebSocketError(
            .proxyFailed,
            """
            Connection through the proxy '\(proxy.host)', port \(proxy.port), to '\(request.hostWithoutBrackets)', port \
            \(request.port), failed: \(why).
            """,
            cause: error
        )
    }

    /// Makes the error for a failed TLS handshake. `certificate` is the server's certificate, if it has arrived.
    static func securing(
        _ request: WebSocketRequest,
        _ error: (any Error)?,
        certificate: NIOSSLCertificate?,
        trustRoots: TLSOptions.TrustRoots
    ) -> WebSocketError {
        tls(
            with: request,
            .handshake(
                error,
                host: request.hostWithoutBrackets,
                certificate: certificate,
                trustRoots: trustRoots
            )
        )
    }

    /// Makes the error for an attempt that cannot begin TLS.
    static func preparing(_ request: WebSocketRequest, _ error: any Error) -> WebSocketError {
        let message = """
            it cannot be set up on this machine. If the system has no certificates of authorities, install \
            ca-certificates, or set tls.trustRoots
            """
        return tls(with: request, TLSFailure(.other, message, cause: error))
    }

    static func tls(with request: WebSocketRequest, _ failure: TLSFailure) -> WebSocketError {
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
            "WebSocket upgrade failed: the connection was lost before the server answered\(reason(error)).",
            cause: error
        )
    }

    /// Makes the error for a connection that was lost without a close frame.
    static func lost(_ request: WebSocketRequest, _ error: (any Error)?) -> WebSocketError {
        if let failure = TLSFailure.established(error) { return tls(with: request, failure) }
        return WebSocketError(
            .connectionClosed,
            "Connection lost: the server sent no close frame\(reason(error)).",
            cause: error
        )
    }

    /// Returns the operating system's description if the error comes from it, and an empty string for other errors.
    private static func reason(_ error: (any Error)?) -> String {
        (error as? IOError).map { " (\(String(cString: strerror($0.errnoCode))))" } ?? ""
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
