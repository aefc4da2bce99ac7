import Foundation
import NIOCore
import NIOPosix

/// The reason why a ``Dial`` made no connection. The client has sent nothing to the server.
package struct DialFailure: Error {
    package var code: NetworkError.Code
    /// The operation that failed, for the start of a sentence.
    package var operation: String
    /// The reason as a clause, for the end of a sentence.
    package var reason: String
    package var cause: (any Error)?

    /// The failure as an error, whose message is a sentence.
    package var error: NetworkError { NetworkError(code, "\(operation): \(reason).", cause: cause) }

    private init(
        _ code: NetworkError.Code,
        _ reason: String,
        operation: String = "Connection failed",
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.operation = operation
        self.reason = reason
        self.cause = cause
    }

    /// The event loop cannot open sockets.
    static let noSockets = DialFailure(
        .connectionFailed,
        "the event loop group cannot open sockets. Use the default group"
    )

    static func invalidPort(_ target: Dialer.Target) -> Self {
        DialFailure(.invalidPort, "it is not between 1 and 65535", operation: "Invalid port \(target.port)")
    }

    /// The TLS context cannot be made.
    static func noTLS(_ target: Dialer.Target, _ error: any Error) -> Self {
        tls(
            target,
            TLSFailure(
                .other,
                """
                it cannot be set up on this machine. If the system has no certificates of authorities, install \
                ca-certificates, or set tls.trustRoots
                """,
                cause: error
            )
        )
    }

    /// The host, or the proxy's host, could not be resolved or reached.
    static func notConnected(to target: Dialer.Target, through proxy: ProxyServer?, _ error: any Error) -> Self {
        let place = "the \(proxy == nil ? "host" : "proxy") '\(proxy?.host ?? target.host)'"
        let attempts = error as? NIOConnectionError
        if let attempts, attempts.connectionErrors.isEmpty {
            return DialFailure(
                proxy == nil ? .nameResolutionFailed : .proxyFailed,
                "\(place) could not be resolved",
                cause: attempts.dnsAError ?? attempts.dnsAAAAError
            )
        }
        let cause = attempts?.connectionErrors.first?.error ?? error
        return DialFailure(
            proxy == nil ? .connectionFailed : .proxyFailed,
            "\(place), port \(proxy?.port ?? target.port), was not reached\(systemReason(cause))",
            cause: cause
        )
    }

    /// The proxy did not connect to the server. The status is the HTTP status of its answer, if there is one.
    static func noTunnel(
        to target: Dialer.Target,
        through proxy: ProxyServer,
        status: Int?,
        _ error: (any Error)?
    ) -> Self {
        let why =
            switch status {
            case nil: "it gave no answer, or an answer that is not HTTP"
            case let status? where (200..<300).contains(status):
                "it answered with HTTP status \(status), but opened no tunnel"
            case 407?: "it \(proxy.reasonForRefusingCredentials)"
            case let status?: "it answered with HTTP status \(status)"
            }
        return DialFailure(
            .proxyFailed,
            """
            the proxy '\(proxy.host)', port \(proxy.port), did not connect to '\(target.host)', port \(target.port): \
            \(why)
            """,
            cause: error
        )
    }

    static func tls(_ target: Dialer.Target, _ failure: TLSFailure) -> Self {
        DialFailure(
            .tlsFailed,
            failure.message,
            operation: "TLS with '\(target.host)', port \(target.port), failed",
            cause: failure
        )
    }

    static func pinMismatch(_ target: Dialer.Target, shown pin: String?) -> Self {
        DialFailure(
            .pinMismatch,
            "the public key of '\(target.host)' is \(pin ?? "unreadable"), and tls.pins does not contain it",
            operation: "Server not trusted"
        )
    }

    /// Returns the operating system's description in parentheses if the error comes from it, and an empty string for
    /// other errors.
    package static func systemReason(_ error: (any Error)?) -> String {
        (error as? IOError).map { " (\(String(cString: strerror($0.errnoCode))))" } ?? ""
    }
}
