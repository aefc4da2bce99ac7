import NIOCore
import PusherVirtualTime
import RealtimeHTTP
import TestSupport

/// A streamer that records the requested streams.
struct CountingStreamer: HTTPStreamer {
    let streamer: InMemoryStreamer
    let streams = Log<String>()
    let requests = Log<HTTPRequest>()

    func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        requests.append(request)
        if request.url.contains("/xhr_streaming") { streams.append(request.url) }
        return streamer.stream(request, redirects: redirects, on: eventLoop, receive: receive)
    }
}
