import NIOConcurrencyHelpers
import NIOCore
import PusherClient
import PusherTestServer
import RealtimeHTTP

/// Sends HTTP requests to the server's authorization endpoints over the simulated network.
final class SimulatedRequester: HTTPRequester {
    private let network: SimulatedNetwork
    private let isShutDown = NIOLockedValueBox(false)
    private let running = NIOLockedValueBox(0)

    init(network: SimulatedNetwork) { self.network = network }

    /// The number of the client's pending requests.
    var runningCount: Int { running.withLockedValue { $0 } }

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        guard !isShutDown.withLockedValue({ $0 }) else { throw HTTPRequestError(.shutDown, "the client has ended") }
        running.withLockedValue { $0 += 1 }
        defer { running.withLockedValue { $0 -= 1 } }
        let answer = FirstAnswer<Result<RESTResponse?, HTTPRequestError>>()
        network.loop.scheduleTask(in: network.nextLatency()) { [network] in
            guard !network.failsRequests else {
                return answer.give(.failure(HTTPRequestError(.failed, "no connection could be made")))
            }
            network.server.request(Self.message(request)) { response in
                network.loop.scheduleTask(in: network.nextLatency()) { answer.give(.success(response)) }
            }
        }
        guard let result = await answer.value() else { throw CancellationError() }
        guard let response = try result.get() else { throw HTTPRequestError(.failed, "the connection ended") }
        var headers = HTTPFields()
        for header in response.headers { headers.append(header.name, header.value) }
        return HTTPResponse(status: response.status, headers: headers, body: Array(response.body.utf8))
    }

    private static func message(_ request: HTTPRequest) -> PusherTestServer.Request {
        let target = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        return PusherTestServer.Request(
            method: request.method,
            target: String(target.drop { $0 != "/" }),
            headers: HTTPHeaderFields(request.headers.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: request.body ?? []
        )
    }

    func shutdown() { isShutDown.withLockedValue { $0 = true } }
}
