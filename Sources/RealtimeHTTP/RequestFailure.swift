import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import RealtimeNetworking

/// Converts failures of connections to this package's errors.
enum RequestFailure {
    static func connectTimedOut(through proxy: ProxyServer?) -> HTTPRequestError {
        let subject = proxy.map { "the proxy '\($0.host)' made no connection" } ?? "no connection was made"
        return unsent(HTTPRequestError(.timedOut, "\(subject) in time"))
    }

    /// Makes the error for options with which the client cannot connect.
    static func invalid(_ error: NetworkError) -> HTTPRequestError {
        let message = error.message.hasSuffix(".") ? String(error.message.dropLast()) : error.message
        return HTTPRequestError(.invalidRequest, message, cause: error)
    }

    /// Makes the error for an attempt that made no connection.
    static func dialing(_ failure: DialFailure) -> HTTPRequestError {
        switch failure.code {
        case .tlsFailed:
            if let error = (failure.cause as? TLSFailure)?.cause as? NetworkError { return invalid(error) }
            let message = "\(failure.operation): \(failure.reason)"
            return unsent(HTTPRequestError(.failed, message, cause: failure.cause))
        case .pinMismatch: return unsent(HTTPRequestError(.pinMismatch, failure.reason, cause: failure.cause))
        default: return unsent(HTTPRequestError(.failed, failure.reason, cause: failure.cause))
        }
    }

    /// Makes the error for a connection that was lost before the response was complete.
    ///
    /// - Parameter isKept: Whether the connection had served another request.
    static func lost(
        _ error: (any Error)?,
        hasHead: Bool,
        through proxy: ProxyServer?,
        isKept: Bool = false
    ) -> HTTPRequestError {
        var failure = lost(error, hasHead: hasHead, proxy, isKept: isKept)
        failure.isOfKeptConnection = isKept
        return failure
    }

    private static func lost(
        _ error: (any Error)?,
        hasHead: Bool,
        _ proxy: ProxyServer?,
        isKept: Bool
    ) -> HTTPRequestError {
        if let failure = TLSFailure.established(error) {
            return HTTPRequestError(.failed, "TLS failed: \(failure.message)", cause: failure)
        }
        if error as? HTTPParserError == .headerOverflow {
            return HTTPRequestError(.failed, "the head of the server's answer is too long", cause: error)
        }
        guard isClosure(error) else {
            return HTTPRequestError(.failed, "the server's answer is not HTTP", cause: error)
        }
        let isPartial = hasHead || error as? HTTPParserError == .invalidEOFState
        let way = proxy.map { " through the proxy '\($0.host)'" } ?? ""
        let loss =
            isKept
            ? "the kept connection\(way) was lost before the answer arrived"
            : "the connection\(way) was lost before the answer arrived"
        return HTTPRequestError(
            .failed,
            isPartial ? "the server ended the response early" : "\(loss)\(DialFailure.systemReason(error))",
            cause: error ?? ChannelError.eof
        )
    }

    /// Whether the peer or the network closed the connection, without an error of HTTP or TLS.
    static func isClosure(_ error: (any Error)?) -> Bool {
        switch error {
        case nil, is IOError, is ChannelError, NIOSSLError.uncleanShutdown?, HTTPParserError.invalidEOFState?: true
        default: false
        }
    }

    private static func unsent(_ error: HTTPRequestError) -> HTTPRequestError {
        var error = error
        error.isUnsent = true
        return error
    }
}
