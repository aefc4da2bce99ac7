import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Puts the failures of the HTTP client into this package's words.
enum RequestFailure {
    static func error(_ error: any Error) -> HTTPRequestError {
        switch error {
        case let error as HTTPRequestError: error
        case let error as HTTPClientError where error == .connectTimeout:
            HTTPRequestError(.timedOut, "no connection was made in time", cause: error)
        case let error as HTTPClientError where error == .alreadyShutdown || error == .cancelled:
            HTTPRequestError(.shutDown, "the client was released", cause: error)
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            HTTPRequestError(.failed, "the connection ended before the answer was there", cause: error)
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            HTTPRequestError(.failed, "its host could not be resolved", cause: error)
        case let error as NIOConnectionError:
            HTTPRequestError(.failed, "no TCP connection could be made", cause: error.connectionErrors.first?.error)
        case let error as IOError where error.errnoCode == ECONNRESET || error.errnoCode == EPIPE:
            HTTPRequestError(.failed, "the connection ended before the answer was there", cause: error)
        case let error as IOError:
            HTTPRequestError(.failed, "no TCP connection could be made", cause: error)
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            HTTPRequestError(
                .failed,
                "TLS failed: is its certificate from a trusted authority, valid now, and for that host?",
                cause: error
            )
        default:
            HTTPRequestError(.failed, "the request failed", cause: error)
        }
    }
}
