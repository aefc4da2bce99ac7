import Foundation
import Testing

@testable import ServerSentEvents

enum ServerSentEventsSamples {
    static func make() throws -> [Any] {
        let header = HTTPHeader(name: "Authorization", value: "Bearer hush")
        let url = "https://ada:hush@feed.test/feed?token=hush"
        let request = EventStreamRequest(url, method: "POST", headers: [header], body: Array("hush".utf8))
        let response = EventStreamResponse(
            status: 403,
            headers: ["Set-Cookie": "session=hush"],
            url: url
        )
        let error = EventStreamError(.unexpectedStatus, "Refused.", response: response, body: Array("hush".utf8))
        let connector = EventStreamConnector(tls: SharedSamples.tls, proxy: SharedSamples.proxy)
        let stream = EventStream(request, connector: connector)
        let values = stream.events(until: "[DONE]")
        let source = EventSource(
            url: try #require(URL(string: "https://feed.test/feed?token=hush")),
            headers: ["Authorization": "Bearer hush"]
        )
        return SharedSamples.all + [
            header, request.headers, request, response, error, connector, stream,
            EventStream(url, connector: connector), source,
            EventDecodingFailure.skip { _ in }, EventStreamEnd<Int>.data("hush"), EventStreamEnd<Int>.value { $0 == 1 },
            EventStream.State.open, EventStream.State.closed(error),
            EventStreamAttempt(number: 1, reason: .initial), stream.events, stream.events.makeAsyncIterator(),
            stream.items, stream.items.makeAsyncIterator(), values, values.makeAsyncIterator(),
            EventStreamItem.opened(response), EventStreamItem.lost(error), EventStreamOptions(),
            EventStreamStatistics(), ServerSentEvent(data: "1"),
            RetryContext(retryCount: 1, elapsed: .zero, reason: error), StandardRetryPolicy.exponential(),
        ]
    }
}
