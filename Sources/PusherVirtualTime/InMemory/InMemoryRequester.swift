import NIOConcurrencyHelpers
package import PusherClient
package import PusherTestServer
package import RealtimeHTTP

/// A requester that sends HTTP requests to the embedded server's in-memory front end.
package struct InMemoryRequester: HTTPRequester {
    private let server: InMemoryServer
    /// The app's work in virtual time; nil if the caller decides when work runs.
    private let work: AppWork?
    private let retirements = NIOLockedValueBox(0)

    package init(server: InMemoryServer, work: AppWork? = nil) {
        self.server = server
        self.work = work
    }

    /// The number of calls of ``retireConnections()``.
    package var retirementCount: Int { retirements.withLockedValue { $0 } }

    package func response(to request: HTTPRequest) async throws -> HTTPResponse {
        try request.validate()
        let target = request.url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false).last ?? ""
        let path = target.drop { $0 != "/" }
        let message = PusherTestServer.Request(
            method: request.method,
            target: path.isEmpty ? "/" : String(path),
            headers: HTTPHeaderFields(request.headers.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: request.body ?? []
        )
        let answer = FirstAnswer<RESTResponse?>()
        let wait = work?.makeWait()
        server.request(message) { response in
            guard let wait else { return answer.give(response) }
            wait.end { answer.give(response) }
        }
        wait?.began()
        let value = await answer.value()
        wait?.ended()
        guard let value else { throw CancellationError() }
        guard let response = value else { throw HTTPRequestError(.failed, "the connection ended") }
        var headers = HTTPFields()
        for header in response.headers { headers.append(header.name, header.value) }
        return HTTPResponse(status: response.status, headers: headers, body: Array(response.body.utf8))
    }

    package func retireConnections() { retirements.withLockedValue { $0 += 1 } }

    package func shutdown() {}
}
