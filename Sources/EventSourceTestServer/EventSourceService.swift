import RealtimeNetworking
import RealtimeTestHTTP

/// Passes the requests of sockets to the test's closures.
struct EventSourceService: HTTPTestService {
    let respond: @Sendable (TestRequest, HTTPTestExchange) -> Void

    let limits = HTTPTestLimits()
    /// The answers are the test's, so it also decides what web pages get.
    let crossOriginPolicy: CrossOriginPolicy? = nil

    func respond(to request: HTTPTestRequest, _ exchange: HTTPTestExchange) {
        let request = TestRequest(
            method: request.method,
            target: request.target,
            headers: HTTPHeaderFields(request.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: request.body
        )
        respond(request, exchange)
    }
}
