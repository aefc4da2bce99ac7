import NIOCore
import PusherTestServer
import RealtimeHTTP

/// The client's side of the embedded server's in-memory front end, for HTTP transports.
struct InMemoryStreamer: HTTPStreamer {
    private struct Stream: HTTPStream {
        let exchange: InMemoryExchange

        func setReading(_ isReading: Bool) { exchange.setReading(isReading) }
        func cancel() { exchange.abort() }
    }

    let server: InMemoryServer

    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let place = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let message = InMemoryRequest(
            method: request.method,
            target: String(place.drop { $0 != "/" }),
            headers: request.headers.fields.map { .init(name: $0.name, value: $0.value) },
            body: ByteBuffer(bytes: request.body ?? [])
        )
        let exchange = server.request(message, on: eventLoop) { event in
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
