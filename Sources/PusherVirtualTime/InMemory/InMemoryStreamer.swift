package import NIOCore
package import PusherTestServer
package import RealtimeHTTP

/// A streamer for HTTP transports that connects to the embedded server's in-memory front end.
package struct InMemoryStreamer: HTTPStreamer {
    private struct Stream: HTTPStream {
        let exchange: InMemoryExchange

        func setReading(_ isReading: Bool) { exchange.setReading(isReading) }
        func cancel() { exchange.abort() }
    }

    private let server: InMemoryServer

    package init(server: InMemoryServer) { self.server = server }

    package func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let exchange = server.request(InMemoryRequest(request), on: eventLoop) { event in
            switch event {
            case .head(let status, let headers):
                var response = HTTPResponse(status: status)
                for header in headers { response.headers.append(header.name, header.value) }
                receive(.head(response))
            case .body(let bytes): receive(.body(bytes))
            case .end: receive(.end)
            case .failed(let reason): receive(.failed(HTTPRequestError(.failed, reason)))
            }
        }
        return Stream(exchange: exchange)
    }
}
