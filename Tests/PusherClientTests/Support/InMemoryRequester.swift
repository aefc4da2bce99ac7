import NIOConcurrencyHelpers
import PusherTestServer
import RealtimeHTTP
import TestSupport

@testable import PusherClient

/// A requester that sends HTTP requests to the embedded server's in-memory front end.
struct InMemoryRequester: HTTPRequester {
    let server: InMemoryServer
    /// The calls of ``retireConnections()``.
    let retirements = Log<Void>()

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        let target = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let path = target.drop { $0 != "/" }
        let message = PusherTestServer.Request(
            method: request.method,
            target: path.isEmpty ? "/" : String(path),
            headers: request.headers.fields.map { .init(name: $0.name, value: $0.value) },
            body: request.body ?? []
        )
        let answer = FirstAnswer<RESTResponse?>()
        server.request(message) { response in answer.give(response) }
        guard let answered = await answer.value() else { throw CancellationError() }
        guard let response = answered else { throw HTTPRequestError(.failed, "the connection ended") }
        var headers = HTTPFields()
        for header in response.headers { headers.append(header.name, header.value) }
        return HTTPResponse(status: response.status, headers: headers, body: Array(response.body.utf8))
    }

    func retireConnections() { retirements.append(()) }

    func shutdown() {}
}
