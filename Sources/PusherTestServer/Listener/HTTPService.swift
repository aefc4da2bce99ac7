import NIOCore
import RealtimeTestHTTP

/// Passes the requests of sockets to the engine, and the engine's answers to the sockets.
struct HTTPService: HTTPTestService {
    private let options: PusherTestServer.Options
    private let engine: ServerEngine
    let crossOriginPolicy: CrossOriginPolicy?

    init(options: PusherTestServer.Options, engine: ServerEngine, hostRule: HostRule? = nil) {
        self.options = options
        self.engine = engine
        crossOriginPolicy = CrossOriginPolicy(options, hostRule: hostRule)
    }

    var limits: HTTPTestLimits {
        HTTPTestLimits(maximumRequestSize: options.maximumRequestSize, requestTimeout: options.requestTimeout)
    }

    func refusal(ofHead request: HTTPTestRequest) -> HTTPTestResponse? {
        engine.refusal(ofHead: PusherTestServer.Request(request)).map { $0.http }
    }

    func answered(_ request: HTTPTestRequest, status: Int) {
        engine.note(PusherTestServer.Request(request), answeredWith: status)
    }

    func respond(to request: HTTPTestRequest, _ exchange: HTTPTestExchange) {
        let request = PusherTestServer.Request(request)
        if exchange.isUpgrade {
            let link = ListenerLink(exchange, engine: engine, options: options)
            return engine.connectionRequested(request, link: link) { id in link.assign(id) }
        }
        let writer = ResponseWriter(exchange, engine)
        engine.request(request, assign: writer.assign, respond: writer.respond)
    }
}

extension CrossOriginPolicy {
    init(_ options: PusherTestServer.Options, hostRule: HostRule? = nil) {
        self.init(
            allowedOrigins: options.allowedOrigins,
            hostRule: hostRule,
            hostAdvice: "add it to allowedHosts (pusher serve: --allow-host)",
            originAdvice: "add it to allowedOrigins (pusher serve: --allow-origin)"
        )
    }
}

extension PusherTestServer.Request {
    init(_ request: HTTPTestRequest) {
        self.init(
            method: request.method,
            target: request.target,
            headers: request.fields.map { Header(name: $0.name, value: $0.value) },
            body: request.body
        )
    }

    var http: HTTPTestRequest {
        HTTPTestRequest(method: method, target: target, fields: headers.map(\.http), body: body)
    }

    private var target: String { query.isEmpty ? path : "\(path)?\(query)" }
}

extension PusherTestServer.Request.Header {
    fileprivate var http: HTTPTestField { HTTPTestField(name: name, value: value) }
}

extension RESTResponse {
    init(_ response: HTTPTestResponse) {
        self.init(
            status: response.status,
            headers: response.fields.map { .init(name: $0.name, value: $0.value) },
            body: String(decoding: response.body, as: UTF8.self)
        )
    }

    var http: HTTPTestResponse { HTTPTestResponse(status: status, fields: headers.map(\.http), text: body) }

    /// Returns the response with further header fields. Does not replace existing fields.
    func adding(_ others: [HTTPTestField]) -> RESTResponse {
        var response = self
        for field in others where header(field.name) == nil {
            response.headers.append(.init(name: field.name, value: field.value))
        }
        return response
    }
}
