import AsyncHTTPClient
import Dispatch
import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Requests over a connection pool of its own, made at the first request: most clients never make one.
package final class AsyncHTTPRequester: HTTPRequester {
    private enum State {
        case unused
        case running(HTTPClient)
        case shutDown
    }

    private let tls: TLSOptions
    private let state = NIOLockedValueBox(State.unused)

    private let maximumConnections: Int
    private let connectTimeout: Duration

    /// - Parameters:
    ///   - maximumConnections: To one host, at once.
    ///   - connectTimeout: For TCP and TLS, and for the wait for a connection where as many are open as may be.
    package init(tls: TLSOptions, maximumConnections: Int = 16, connectTimeout: Duration = .seconds(10)) {
        self.tls = tls
        self.maximumConnections = maximumConnections
        self.connectTimeout = connectTimeout
    }

    deinit { shutdown() }

    package func shutdown() {
        let client: HTTPClient? = state.withLockedValue { state in
            defer { state = .shutDown }
            if case .running(let client) = state { return client }
            return nil
        }
        // Ends the requests under way too; the client keeps itself alive until that is done.
        client?.shutdown(queue: .global()) { _ in }
    }

    package func response(to request: HTTPRequest) async throws -> HTTPResponse {
        if let problem = request.problem { throw HTTPRequestError(.invalidRequest, problem) }
        let client = try client()
        let timeout = min(request.timeout, .seconds(HTTPRequest.maximumTimeout))
        do {
            return try await withThrowingTaskGroup { group in
                group.addTask { try await Self.followingRedirects(request, with: client) }
                group.addTask {
                    try await Task.sleep(for: timeout)
                    throw HTTPRequestError(.timedOut, "it took longer than \(timeout)")
                }
                defer { group.cancelAll() }
                guard let response = try await group.next() else { throw CancellationError() }
                return response
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw RequestFailure.error(error)
        }
    }

    private func client() throws -> HTTPClient {
        try state.withLockedValue { state in
            switch state {
            case .running(let client): return client
            case .shutDown: throw HTTPRequestError(.shutDown, "the client was released")
            case .unused:
                let client = HTTPClient(
                    eventLoopGroup: MultiThreadedEventLoopGroup.singleton,
                    configuration: try configuration()
                )
                state = .running(client)
                return client
            }
        }
    }

    private func configuration() throws -> HTTPClient.Configuration {
        let tlsConfiguration: TLSConfiguration
        do throws(PusherClientError) {
            tlsConfiguration = try tls.makeConfiguration()
        } catch {
            throw HTTPRequestError(.invalidRequest, error.message, cause: error)
        }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tlsConfiguration,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(clamping: connectTimeout))
        )
        // The one who asks decides about another try, and counts it.
        configuration.connectionPool.retryConnectionEstablishment = false
        // So many requests are under way at once by default; none shall wait, its time running, for another's connection.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(maximumConnections, 1)
        return configuration
    }

    private static func followingRedirects(
        _ request: HTTPRequest,
        with client: HTTPClient
    ) async throws -> HTTPResponse {
        var request = request
        for _ in 0...Redirect.maximum {
            let response = try await send(request, with: client)
            guard let target = try Redirect.target(of: response, to: request) else { return response }
            request = target
        }
        throw HTTPRequestError(.redirectRefused, "it redirects more than \(Redirect.maximum) times")
    }

    private static func send(_ request: HTTPRequest, with client: HTTPClient) async throws -> HTTPResponse {
        var message = HTTPClientRequest(url: request.url)
        message.method = HTTPMethod(rawValue: request.method)
        for field in request.headers.fields { message.headers.add(name: field.name, value: field.value) }
        if let body = request.body { message.body = .bytes(body) }
        // The time is kept above, for the body and redirects too.
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
