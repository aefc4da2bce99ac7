import AsyncHTTPClient
import Dispatch
import Foundation
import NIOConcurrencyHelpers
package import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
package import RealtimeNetworking
import RealtimePrimitives

/// Makes HTTP requests over its own connection pools. The requester creates no pool before the first request, because
/// most clients never make a request. The requests through one proxy share a pool. The requests without a proxy share
/// another pool. The requester replaces a pool after a request was cancelled or timed out, and after the pool has
/// connected to many origins.
package final class AsyncHTTPRequester: HTTPRequester {
    private enum State {
        case running(ConnectionPools<ProxyServer?, HTTPClient>)
        case shutDown
    }

    private let tls: TLSContextSource
    private let proxies: ProxyRules
    private let state = NIOLockedValueBox(State.running(ConnectionPools()))

    private let eventLoopGroup: any EventLoopGroup
    private let maximumConnections: Int
    private let connectTimeout: Duration
    private let idleTimeout: Duration

    /// - Parameters:
    ///   - tls: The TLS options, which the client may share with its other connections.
    ///   - maximumConnections: The maximum number of simultaneous connections to one host.
    ///   - connectTimeout: The time for TCP and TLS. If the maximum number of connections is open, the time includes
    ///     the wait for a free connection.
    ///   - idleTimeout: The time that an unused connection stays open. The client authorizes its channels together, so
    ///     a short time is enough. With a short time, a later request rarely gets a dead connection, or a connection
    ///     that the server is about to close. For example, Node.js closes idle connections after five seconds.
    package init(
        tls: TLSContextSource,
        proxies: ProxyRules = .direct,
        eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
        maximumConnections: Int = 16,
        connectTimeout: Duration = .seconds(10),
        idleTimeout: Duration = .seconds(4)
    ) {
        self.tls = tls
        self.proxies = proxies
        self.eventLoopGroup = eventLoopGroup
        self.maximumConnections = maximumConnections
        self.connectTimeout = connectTimeout
        self.idleTimeout = idleTimeout
    }

    deinit { shutdown() }

    package func retireConnections() {
        let clients: [HTTPClient] = state.withLockedValue { state in
            guard case .running(var pools) = state else { return [] }
            defer { state = .running(pools) }
            return pools.retireAll()
        }
        for client in clients { Self.shutDown(client) }
    }

    package func shutdown() {
        let clients: [HTTPClient] = state.withLockedValue { state in
            defer { state = .shutDown }
            if case .running(let pools) = state { return pools.all }
            return []
        }
        // A shutdown also cancels pending requests. The code does not wait, because each client retains itself until
        // its shutdown is complete.
        for client in clients { Self.shutDown(client) }
    }

    private static func shutDown(_ client: HTTPClient) { client.shutdown(queue: .global()) { _ in } }

    package func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        try Task.checkCancellation()
        let timeout = min(request.timeout, .seconds(HTTPRequest.maximumTimeout))
        // The code uses a timer of the event loop, because a cancelled timer releases its memory at once. A task that
        // sleeps would keep its memory until the time is over, even after a cancellation.
        let isOver = eventLoopGroup.any().makePromise(of: Void.self)
        let timer = isOver.futureResult.eventLoop.scheduleTask(in: TimeAmount(clamping: timeout)) { isOver.succeed() }
        defer { timer.cancel() }
        do {
            return try await withThrowingTaskGroup { group in
                group.addTask { try await self.followingRedirects(request.prepared) }
                group.addTask {
                    try await isOver.futureResult.get()
                    throw HTTPRequestError(.timedOut, "it took longer than \(timeout.inWords)")
                }
                defer {
                    group.cancelAll()
                    isOver.fail(CancellationError())
                }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw RequestFailure.error(error, through: nil)
        }
    }

    /// Returns a client for one request. The caller must call `giveBack` after the request. Every request of every
    /// client passes this method, so the method rejects requests whose pins the client cannot check.
    func takeClient(for url: String) throws -> (client: HTTPClient, proxy: ProxyServer?, host: String?) {
        try tls.options.checkPins(forRequestTo: url)
        let url = URL(string: url)
        let proxy = try proxy(for: url)
        let origin = "\(url?.scheme ?? "")://\(url?.host ?? ""):\(url?.port ?? 0)".lowercased()
        let (client, ended) = try state.withLockedValue { state in
            guard case .running(var pools) = state else {
                throw HTTPRequestError(.shutDown, "the client was released")
            }
            defer { state = .running(pools) }
            return try pools.take(for: proxy, origin: origin) {
                HTTPClient(
                    eventLoopGroup: eventLoopGroup,
                    configuration: try configuration(proxy)
                )
            }
        }
        if let ended { Self.shutDown(ended) }
        return (client, proxy, url?.host)
    }

    func giveBack(_ client: HTTPClient, isUsable: Bool) {
        let ended: HTTPClient? = state.withLockedValue { state in
            guard case .running(var pools) = state else { return nil }
            defer { state = .running(pools) }
            return pools.giveBack(client, isUsable: isUsable)
        }
        if let ended { Self.shutDown(ended) }
    }

    /// Returns the proxy for a URL.
    private func proxy(for url: URL?) throws -> ProxyServer? {
        guard let url, let host = url.host else { return nil }
        let useTLS = url.scheme?.lowercased() == "https"
        do throws(NetworkError) {
            return try proxies.proxy(
                forHost: host,
                port: url.port ?? (useTLS ? 443 : 80),
                useTLS: useTLS,
                tls: tls.options
            )
        } catch {
            throw HTTPRequestError(.invalidRequest, error.message, cause: error)
        }
    }

    private func configuration(_ proxy: ProxyServer?) throws -> HTTPClient.Configuration {
        let tlsConfiguration: TLSConfiguration
        do throws(NetworkError) {
            try tls.validate()
            tlsConfiguration = try tls.options.makeConfiguration()
        } catch {
            throw HTTPRequestError(.invalidRequest, error.message, cause: error)
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tlsConfiguration,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(clamping: connectTimeout))
        )
        if let proxy {
            configuration.proxy = .server(
                host: proxy.host,
                port: proxy.port,
                authorization: proxy.credentials.map { .basic(username: $0.username, password: $0.password) }
            )
        }
        // The requester's caller decides whether to retry, and counts the retries.
        configuration.connectionPool.retryConnectionEstablishment = false
        // With the default limit, requests would wait for free connections, and the wait would count toward their
        // timeouts.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(maximumConnections, 1)
        // With HTTP/1.1, cancelling a request closes the connection. With HTTP/2, cancelling a request would end only a
        // stream, and later requests would use the same connection. If the network has changed, this connection is
        // dead.
        configuration.httpVersion = .http1Only
        configuration.connectionPool.idleTimeout = TimeAmount(clamping: idleTimeout)
        return configuration
    }

    private func followingRedirects(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        var redirectedURL: String?
        do {
            for _ in 0...Redirect.maximum {
                var response = try await send(request)
                response.url = redirectedURL
                guard let target = try Redirect.target(of: response, to: request) else { return response }
                request = target
                redirectedURL = target.url
            }
        } catch var error as HTTPRequestError {
            error.url = redirectedURL
            throw error
        }
        throw HTTPRequestError(.redirectRefused, "the server redirects more than \(Redirect.maximum) times")
    }

    private func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let (client, proxy, host) = try takeClient(for: request.url)
        do {
            let response = try await send(request, with: client)
            giveBack(client, isUsable: true)
            return response
        } catch {
            let isCancelled = Task.isCancelled
            let error = RequestFailure.error(error, through: proxy, host: host)
            // A connection attempt continues after its request has been cancelled. The next request would wait for the
            // attempt, and fail with the same error. So the pool gets no more requests after a cancellation or a
            // timeout.
            giveBack(client, isUsable: !isCancelled && error.kind != .timedOut)
            if isCancelled { throw CancellationError() }
            throw error
        }
    }

    private func send(_ request: HTTPRequest, with client: HTTPClient) async throws -> HTTPResponse {
        var message = HTTPClientRequest(url: request.url)
        message.method = HTTPMethod(rawValue: request.method)
        for field in request.headers.fields { message.headers.add(name: field.name, value: field.value) }
        if let body = request.body { message.body = .bytes(body) }
        // The timer in `response(to:)` limits the time, including the body and redirects.
        let answer = try await client.execute(message, deadline: .distantFuture)
        var response = HTTPResponse(status: Int(answer.status.code))
        for (name, value) in answer.headers { response.headers.append(name, value) }
        for try await chunk in answer.body {
            let room = request.maximumResponseSize - response.body.count
            response.body += chunk.readableBytesView.prefix(max(0, room))
            if chunk.readableBytes > room {
                response.isCut = true
                break
            }
        }
        return response
    }
}
