import NIOCore
import NIOPosix
package import RealtimeHTTP
package import RealtimeNetworking
import TestSupport

extension HTTPRequest {
    /// Creates a request with a timeout that exceeds the duration of every test.
    package static func to(
        _ url: String,
        method: String = "POST",
        headers: HTTPFields = [:],
        body: String? = "a=b",
        timeout: Duration = .seconds(3_600),
        maximumResponseSize: Int = 1_048_576
    ) -> HTTPRequest {
        HTTPRequest(
            url: url,
            method: method,
            headers: headers,
            body: body.map { Array($0.utf8) },
            timeout: timeout,
            maximumResponseSize: maximumResponseSize
        )
    }
}

extension HTTPRequester {
    package func status(_ request: HTTPRequest) async throws -> Int { try await response(to: request).status }

    /// Returns the error of a request. Returns nil if there was an answer, or an error of another type.
    package func failure(_ request: HTTPRequest) async -> HTTPRequestError? {
        do {
            _ = try await response(to: request)
            return nil
        } catch {
            return error as? HTTPRequestError
        }
    }
}

/// The response of a stream, as far as it arrived.
package struct StreamedResponse: Sendable {
    package var head: HTTPResponse?
    package var body = ""
    package var error: HTTPRequestError?
}

extension HTTPStreamer {
    /// Sends a request. Returns the response piece by piece.
    package func events(of request: HTTPRequest, maximumRedirects: Int = 5) -> AsyncStream<HTTPStreamEvent> {
        let (events, continuation) = AsyncStream.makeStream(of: HTTPStreamEvent.self)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let stream = stream(
            request,
            redirects: HTTPStreamRedirects(maximum: maximumRedirects, leavesTLS: false),
            on: eventLoop
        ) { event in
            continuation.yield(event)
            switch event {
            case .end, .failed: continuation.finish()
            case .head, .body: break
            }
        }
        continuation.onTermination = { reason in
            if case .cancelled = reason { eventLoop.execute { stream.cancel() } }
        }
        return events
    }

    /// Reads a stream to its end.
    package func streamed(_ request: HTTPRequest, maximumRedirects: Int = 5) async -> StreamedResponse {
        var response = StreamedResponse()
        for await event in events(of: request, maximumRedirects: maximumRedirects) {
            switch event {
            case .head(let head): response.head = head
            case .body(let bytes): response.body += String(buffer: bytes)
            case .end: break
            case .failed(let error): response.error = error
            }
        }
        return response
    }
}

extension PooledHTTPRequester {
    /// The client of tests that look at the responses of a server.
    package static let ofTests = patient()

    /// A client with a long timeout for connections, for slow machines.
    package static func patient(
        tls: TLSOptions = TLSOptions(),
        proxies: ProxyRules = .direct,
        maximumConnections: Int = 16,
        idleTimeout: Duration = .seconds(4),
        census: ChannelCensus? = nil
    ) -> PooledHTTPRequester {
        PooledHTTPRequester(
            dialer: Dialer(tlsContexts: TLSContextSource(tls), proxies: proxies, observe: { census?.add($0) }),
            on: MultiThreadedEventLoopGroup.singleton.next(),
            maximumConnections: maximumConnections,
            connectTimeout: .patience,
            idleTimeout: idleTimeout
        )
    }
}
