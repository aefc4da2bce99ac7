import NIOConcurrencyHelpers
import PusherTestServer

@testable import PusherClient

/// HTTP requests to the embedded server's in-memory front end.
struct InMemoryRequester: HTTPRequester {
    let server: InMemoryServer

    func response(to request: HTTPRequest) async throws -> HTTPResponse {
        let target = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let path = target.drop { $0 != "/" }
        let message = PusherTestServer.Request(
            method: request.method,
            target: path.isEmpty ? "/" : String(path),
            headers: request.headers.fields.map { .init(name: $0.name, value: $0.value) },
            body: request.body ?? []
        )
        let answer = FirstAnswer<HTTPResponse>()
        server.request(message) { status, body in
            answer.give(HTTPResponse(status: status, body: Array(body.utf8)))
        }
        guard let response = await answer.value() else { throw CancellationError() }
        return response
    }

    func shutdown() {}
}
