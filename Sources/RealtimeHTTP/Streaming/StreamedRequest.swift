package import NIOCore

extension PooledHTTPRequester: HTTPStreamer {
    package func stream(
        _ request: HTTPRequest,
        redirects: HTTPStreamRedirects,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) -> any HTTPStream {
        let stream = StreamedRequest(on: eventLoop)
        eventLoop.execute { stream.start(request, redirects, over: self, receive) }
        return stream
    }
}

/// A request with a streamed response, including all redirects.
private final class StreamedRequest: HTTPStream {
    private struct State {
        var call: HTTPCall?
        /// The requester, which must not end before the stream.
        var requester: PooledHTTPRequester?
        var isReading = true
        var isOver = false
    }

    /// The size of the first reads. A stream may begin with much data.
    private static let initialReadSize = 16_384

    private let state: NIOLoopBoundBox<State>

    init(on eventLoop: any EventLoop) { state = .makeBoxSendingValue(State(), eventLoop: eventLoop) }

    func start(
        _ request: HTTPRequest,
        _ redirects: HTTPStreamRedirects,
        over requester: PooledHTTPRequester,
        _ receive: @escaping @Sendable (HTTPStreamEvent) -> Void
    ) {
        guard !state.value.isOver else { return }
        do throws(HTTPRequestError) {
            let call = HTTPCall(
                over: try requester.connections(on: state.eventLoop),
                .init(
                    redirects: .anyOrigin(leavesTLS: redirects.leavesTLS, headers: redirects.headersForOtherOrigins),
                    maximumRedirects: redirects.maximum,
                    isPooled: request.sharesConnection,
                    initialReadSize: Self.initialReadSize
                )
            ) { event in
                switch event {
                case .head, .body: break
                case .end, .failed: self.finish()
                }
                receive(event)
            }
            state.value.requester = requester
            state.value.call = call
            call.setReading(state.value.isReading)
            call.send(request.prepared)
        } catch {
            finish()
            receive(.failed(error))
        }
    }

    func setReading(_ isReading: Bool) {
        state.value.isReading = isReading
        state.value.call?.setReading(isReading)
    }

    func cancel() {
        state.value.call?.cancel()
        finish()
    }

    private func finish() {
        state.value.isOver = true
        state.value.call = nil
        state.value.requester = nil
    }
}
