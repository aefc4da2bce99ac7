import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import RealtimeNetworking
import RealtimePrimitives

/// Makes HTTP/1.1 requests over its own connections. All requests for whole responses run on one event loop. A stream
/// runs on the loop that its caller names.
package final class PooledHTTPRequester: HTTPRequester {
    private enum State {
        /// The connections of each event loop.
        case running([ObjectIdentifier: NIOLoopBound<HTTPConnections>])
        case shutDown
    }

    private let eventLoop: any EventLoop
    private let makeConnections: @Sendable (any EventLoop) -> HTTPConnections
    private let state = NIOLockedValueBox(State.running([:]))

    /// - Parameters:
    ///   - dialer: Makes the connections. The client's other connections may use the same dialer.
    ///   - eventLoop: The loop of the requests for whole responses.
    ///   - maximumConnections: The maximum number of simultaneous connections to one server.
    ///   - connectTimeout: The time for the host lookup, TCP, the proxy's tunnel and TLS. If the maximum number of
    ///     connections is open, the time includes the wait for a free connection.
    ///   - idleTimeout: The time that an unused connection stays open. The client authorizes its channels together, so
    ///     a short time is enough. With a short time, a later request rarely gets a dead connection, or a connection
    ///     that the server is about to close. For example, Node.js closes idle connections after five seconds.
    package init(
        dialer: Dialer,
        on eventLoop: any EventLoop,
        maximumConnections: Int = 16,
        connectTimeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(4)
    ) {
        self.eventLoop = eventLoop
        let limits = HTTPConnections.Limits(
            connections: max(maximumConnections, 1),
            connectTime: connectTimeout,
            idleTime: idleTimeout
        )
        makeConnections = { HTTPConnections(dialer, on: $0, limits) }
    }

    /// Creates a requester whose connections are channels that a closure makes, on one event loop. The requester uses
    /// neither TLS nor a proxy. Tests use this initializer to avoid sockets.
    package init(on eventLoop: any EventLoop, makeChannel: @escaping @Sendable () -> any Channel) {
        self.eventLoop = eventLoop
        let limits = HTTPConnections.Limits(connections: 1, connectTime: .seconds(10), idleTime: .seconds(4))
        makeConnections = { eventLoop in
            HTTPConnections(on: eventLoop, limits) { _, _, completion in
                let task = eventLoop.assumeIsolated().scheduleTask(in: .zero) { completion(.success(makeChannel())) }
                return HTTPConnections.Attempt(proxy: nil, cancel: { task.cancel() })
            }
        }
    }

    /// Creates a requester with a dialer of its own, on a loop of a group.
    package convenience init(
        tls: TLSContextSource,
        proxies: ProxyRules = .direct,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        maximumConnections: Int = 16,
        connectTimeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(4)
    ) {
        self.init(
            dialer: Dialer(tlsContexts: tls, proxies: proxies),
            on: eventLoopGroup.next(),
            maximumConnections: maximumConnections,
            connectTimeout: connectTimeout,
            idleTimeout: idleTimeout
        )
    }

    deinit { shutdown() }

    package func retireConnections() {
        let loops: [NIOLoopBound<HTTPConnections>] = state.withLockedValue { state in
            if case .running(let loops) = state { Array(loops.values) } else { [] }
        }
        for connections in loops { connections.eventLoop.execute { connections.value.retireConnections() } }
    }

    package func shutdown() {
        let loops: [NIOLoopBound<HTTPConnections>] = state.withLockedValue { state in
            defer { state = .shutDown }
            return if case .running(let loops) = state { Array(loops.values) } else { [] }
        }
        for connections in loops { connections.eventLoop.execute { connections.value.shutdown() } }
    }

    /// Returns the connections of the current event loop.
    func connections(on eventLoop: any EventLoop) throws(HTTPRequestError) -> HTTPConnections {
        let connections: NIOLoopBound<HTTPConnections>? = state.withLockedValue { state in
            guard case .running(var loops) = state else { return nil }
            if let known = loops[ObjectIdentifier(eventLoop)] { return known }
            let made = NIOLoopBound(makeConnections(eventLoop), eventLoop: eventLoop)
            loops[ObjectIdentifier(eventLoop)] = made
            state = .running(loops)
            return made
        }
        guard let connections else { throw HTTPRequestError(.shutDown, "the client was released") }
        return connections.value
    }

    package func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let promise = eventLoop.makePromise(of: HTTPResponse.self)
        let collector = NIOLoopBoundBox.makeBoxSendingValue(
            ResponseCollector(request, promise: promise),
            eventLoop: eventLoop
        )
        eventLoop.execute { [eventLoop] in collector.value.start(self, on: eventLoop) }
        return try await withCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            eventLoop.execute { collector.value.end(.failure(CancellationError())) }
        }
    }
}

/// Collects the response to one request, within the request's timeout and maximum size.
private final class ResponseCollector {
    private let request: HTTPRequest
    /// The promise of the response; nil after the end.
    private var promise: EventLoopPromise<HTTPResponse>?
    /// The requester, which must not end before the request.
    private var requester: PooledHTTPRequester?
    private var call: HTTPCall?
    private var timer: Scheduled<Void>?
    private var response = HTTPResponse(status: 0)

    init(_ request: HTTPRequest, promise: EventLoopPromise<HTTPResponse>) {
        self.request = request
        self.promise = promise
    }

    func start(_ requester: PooledHTTPRequester, on eventLoop: any EventLoop) {
        guard promise != nil else { return }
        self.requester = requester
        let timeout = min(request.timeout, .seconds(HTTPRequest.maximumTimeout))
        timer = eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(clamping: timeout)) {
            self.end(.failure(HTTPRequestError(.timedOut, "it took longer than \(timeout.inWords)")))
        }
        do {
            let call = HTTPCall(
                over: try requester.connections(on: eventLoop),
                .init(
                    redirects: request.followsRedirects ? .sameOrigin : nil,
                    maximumRedirects: Redirect.maximum,
                    isPooled: true
                )
            ) { self.received($0) }
            self.call = call
            call.send(request.prepared)
        } catch {
            end(.failure(error))
        }
    }

    func end(_ result: Result<HTTPResponse, any Error>) {
        let promise = promise
        self.promise = nil
        timer?.cancel()
        timer = nil
        call?.cancel()
        call = nil
        requester = nil
        promise?.completeWith(result)
    }

    private func received(_ event: HTTPStreamEvent) {
        switch event {
        case .head(let response): self.response = response
        case .body(let bytes):
            let room = request.maximumResponseSize - response.body.count
            response.body += bytes.readableBytesView.prefix(max(0, room))
            guard bytes.readableBytes > room else { return }
            response.isCut = true
            end(.success(response))
        case .end: end(.success(response))
        case .failed(var error):
            // Without redirects, the caller knows the URL.
            if call?.redirectCount == 0 { error.url = nil }
            end(.failure(error))
        }
    }
}
