import AsyncHTTPClient
import Foundation
package import NIOCore
import NIOHTTP1
import RealtimeNetworking

extension AsyncHTTPRequester: HTTPStreamer {
    package func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let stream = StreamedRequest(self, redirects, on: eventLoop, receive)
        eventLoop.execute { stream.send(request) }
        return stream
    }
}

/// A request with a streamed response, including all redirects. The request does all its work on one event loop.
private final class StreamedRequest: HTTPStream {
    private struct State {
        /// The current request.
        var hop: Hop?
        var task: HTTPClient.Task<Void>?
        /// Whether the server has sent an answer that is not a redirect.
        var hasHead = false
        var redirectCount = 0
        var isReading = true
        /// The promise whose completion resumes reading; nil while the client reads the body.
        var resumption: EventLoopPromise<Void>?
        var isOver = false
    }

    private let requester: AsyncHTTPRequester
    private let redirects: HTTPStreamRedirects
    private let eventLoop: any EventLoop
    private let receive: @Sendable (HTTPStreamEvent) -> Void
    private let state: NIOLoopBoundBox<State>

    init(
        _ requester: AsyncHTTPRequester,
        _ redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        _ receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) {
        self.requester = requester
        self.redirects = redirects
        self.eventLoop = eventLoop
        self.receive = receive
        state = .makeBoxSendingValue(State(), eventLoop: eventLoop)
    }

    func send(_ request: HTTPRequest) {
        guard !state.value.isOver else { return }
        do {
            try request.validate()
            let request = request.prepared
            let message = try HTTPClient.Request(
                url: request.url,
                method: HTTPMethod(rawValue: request.method),
                headers: HTTPHeaders(request.headers.fields.map { ($0.name, $0.value) }),
                body: request.body.map { .bytes($0) }
            )
            let (client, proxy, host) = try requester.takeClient(for: request.url)
            let hop = Hop(of: self, request, client, proxy, host)
            state.value.hop = hop
            let task = client.execute(
                request: message,
                delegate: hop,
                // With `delegateAndChannel`, the HTTP client opens a new connection and closes it after the request.
                // Such a connection does not count toward any limit.
                eventLoop: request.sharesConnection ? .delegate(on: eventLoop) : .delegateAndChannel(on: eventLoop),
                deadline: nil
            )
            state.value.task = task
            // Before the connection is open, only the future reports failures. So the code also waits for the future.
            task.futureResult.whenFailure { [self] error in ended(hop, error) }
        } catch {
            end(.failed(RequestFailure.error(error, through: nil)), for: request)
        }
    }

    func setReading(_ isReading: Bool) {
        state.value.isReading = isReading
        guard isReading, let resumption = state.value.resumption else { return }
        state.value.resumption = nil
        // The completion passes on the next piece, and the caller must not get it within this call.
        eventLoop.execute { resumption.succeed() }
    }

    func cancel() {
        state.value.isOver = true
        endHop(isUsable: nil)
    }

    // MARK: The response of the current request

    fileprivate func received(_ head: HTTPResponseHead, from hop: Hop) {
        guard isCurrent(hop) else { return }
        var response = HTTPResponse(status: Int(head.status.code))
        for (name, value) in head.headers { response.headers.append(name, value) }
        if state.value.redirectCount > 0 { response.url = hop.request.url }
        do throws(HTTPRequestError) {
            let rules = Redirect.Rules.anyOrigin(
                leavesTLS: redirects.leavesTLS,
                headers: redirects.headersForOtherOrigins
            )
            guard let target = try Redirect.target(of: response, to: hop.request, rules) else {
                state.value.hasHead = true
                return receive(.head(response))
            }
            guard state.value.redirectCount < redirects.maximum else {
                throw HTTPRequestError(.redirectRefused, "the server redirects more than \(redirects.maximum) times")
            }
            state.value.redirectCount += 1
            endHop(isUsable: true)
            send(target)
        } catch {
            endHop(isUsable: true)
            end(.failed(error), for: hop.request)
        }
    }

    fileprivate func received(_ bytes: ByteBuffer, from hop: Hop) -> EventLoopFuture<Void> {
        guard isCurrent(hop) else { return eventLoop.makeSucceededVoidFuture() }
        receive(.body(bytes))
        guard isCurrent(hop), !state.value.isReading else { return eventLoop.makeSucceededVoidFuture() }
        let resumption = eventLoop.makePromise(of: Void.self)
        state.value.resumption = resumption
        return resumption.futureResult
    }

    fileprivate func ended(_ hop: Hop, _ failure: (any Error)?) {
        guard isCurrent(hop) else { return }
        let error = failure.map { RequestFailure.error($0, through: hop.proxy, host: hop.host) }
        endHop(isUsable: error?.kind != .timedOut)
        end(error.map { .failed($0) } ?? .end, for: hop.request)
    }

    private func isCurrent(_ hop: Hop) -> Bool { state.value.hop === hop }

    /// - Parameter isUsable: Whether the connection pool may get more requests; `nil` if the caller cancelled the
    ///   request.
    private func endHop(isUsable: Bool?) {
        guard let hop = state.value.hop else { return }
        state.value.hop = nil
        state.value.task?.cancel()
        state.value.task = nil
        // A task may be waiting for the promise, so the code must complete it.
        state.value.resumption?.succeed()
        state.value.resumption = nil
        // The next request would wait for a pending connection attempt. So a pool with such an attempt gets no more
        // requests.
        requester.giveBack(hop.client, isUsable: isUsable ?? state.value.hasHead)
    }

    private func end(_ event: HTTPStreamEvent, for request: HTTPRequest) {
        guard !state.value.isOver else { return }
        state.value.isOver = true
        if case .failed(var error) = event {
            error.url = request.url
            receive(.failed(error))
        } else {
            receive(event)
        }
    }
}

/// One request of a chain of redirects.
private final class Hop: HTTPClientResponseDelegate, Sendable {
    typealias Response = Void

    let request: HTTPRequest
    let client: HTTPClient
    let proxy: ProxyServer?
    let host: String?
    private let stream: StreamedRequest

    init(
        of stream: StreamedRequest,
        _ request: HTTPRequest,
        _ client: HTTPClient,
        _ proxy: ProxyServer?,
        _ host: String?
    ) {
        self.stream = stream
        self.request = request
        self.client = client
        self.proxy = proxy
        self.host = host
    }

    func didReceiveHead(task: HTTPClient.Task<Void>, _ head: HTTPResponseHead) -> EventLoopFuture<Void> {
        stream.received(head, from: self)
        return task.eventLoop.makeSucceededVoidFuture()
    }

    func didReceiveBodyPart(task: HTTPClient.Task<Void>, _ buffer: ByteBuffer) -> EventLoopFuture<Void> {
        stream.received(buffer, from: self)
    }

    func didFinishRequest(task: HTTPClient.Task<Void>) { stream.ended(self, nil) }
}
