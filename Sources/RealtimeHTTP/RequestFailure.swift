import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RealtimeNetworking

/// Converts failures of the HTTP client to this package's errors.
enum RequestFailure {
    /// - Parameters:
    ///   - proxy: The proxy, if the request used one.
    ///   - host: The host of the request.
    static func error(_ error: any Error, through proxy: ProxyServer?, host: String? = nil) -> HTTPRequestError {
        var failure = explanation(of: error, through: proxy, host: host)
        if isOfConnecting(error) { failure.isUnsent = true }
        return failure
    }

    /// Whether the error means that no connection was made.
    private static func isOfConnecting(_ error: any Error) -> Bool {
        switch error {
        case is NIOConnectionError: true
        case let error as IOError: error.errnoCode == ECONNREFUSED
        case let error as HTTPClientError:
            switch error {
            case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
                .proxyAuthenticationRequired, .invalidProxyResponse:
                true
            default: false
            }
        default: false
        }
    }

    private static func explanation(
        of error: any Error,
        through proxy: ProxyServer?,
        host: String?
    ) -> HTTPRequestError {
        switch error {
        case let error as HTTPRequestError: error
        case let error as HTTPClientError: failure(error, through: proxy)
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            HTTPRequestError(.failed, "\(proxy?.asSubject ?? "the URL's host") could not be resolved", cause: error)
        case let error as NIOConnectionError:
            notConnected(through: proxy, error.connectionErrors.first?.error ?? error)
        case let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE:
            HTTPRequestError(.failed, "the connection was lost before the answer arrived", cause: error)
        case let error as IOError:
            notConnected(through: proxy, error)
        case NIOSSLError.uncleanShutdown:
            HTTPRequestError(.failed, "the connection was lost before the answer arrived", cause: error)
        case HTTPParserError.invalidEOFState: HTTPRequestError(.failed, "the server's answer ended early", cause: error)
        case is HTTPParserError: HTTPRequestError(.failed, "the server's answer is not HTTP", cause: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError: tls(error, host: host)
        default:
            HTTPRequestError(.failed, "the request failed", cause: error)
        }
    }

    /// Makes the error for a TLS failure. The HTTP client does not pass the certificate on, so the exact reason is
    /// usually unknown.
    private static func tls(_ error: any Error, host: String?) -> HTTPRequestError {
        // The HTTP client wraps TLS errors of a handshake. A TLS error without a wrapper therefore occurred after the
        // handshake.
        let established = error is BoringSSLError ? TLSFailure.established(error) : nil
        var failure =
            established
            ?? TLSFailure.handshake(error, host: host ?? "that host", certificate: nil, trustRoots: .system)
        if failure.reason == .certificateRefused {
            failure.message += "; it may have expired, or be from an authority that is not trusted"
        }
        return HTTPRequestError(.failed, "TLS failed: \(failure.message)", cause: failure)
    }

    private static func failure(_ error: HTTPClientError, through proxy: ProxyServer?) -> HTTPRequestError {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout:
            HTTPRequestError(.timedOut, "no connection was made in time", cause: error)
        case .httpProxyHandshakeTimeout:
            HTTPRequestError(.timedOut, "\(proxy?.asSubject ?? "the proxy") made no connection in time", cause: error)
        case .alreadyShutdown, .cancelled:
            HTTPRequestError(.shutDown, "the client was released", cause: error)
        case .remoteConnectionClosed:
            HTTPRequestError(
                .failed,
                "the connection\(proxy.map { " through \($0.asSubject)" } ?? "") was lost before the answer arrived",
                cause: error
            )
        case .proxyAuthenticationRequired:
            HTTPRequestError(
                .failed,
                "\(proxy?.asSubject ?? "the proxy") \(proxy?.reasonForRefusingCredentials ?? "answered with HTTP 407")",
                cause: error
            )
        case .invalidProxyResponse:
            HTTPRequestError(
                .failed,
                "\(proxy?.asSubject ?? "the proxy") refused to connect to the endpoint's host",
                cause: error
            )
        default:
            HTTPRequestError(.failed, "the request failed", cause: error)
        }
    }

    private static func notConnected(through proxy: ProxyServer?, _ error: any Error) -> HTTPRequestError {
        let place = proxy.map { " to \($0.asSubject), port \($0.port)" } ?? ""
        let reason = (error as? IOError).map { " (\(String(cString: strerror($0.errnoCode))))" } ?? ""
        return HTTPRequestError(.failed, "no TCP connection could be made\(place)\(reason)", cause: error)
    }
}

extension ProxyServer {
    /// The proxy's description, for the start of an error message.
    var asSubject: String { "the proxy '\(host)'" }
}
