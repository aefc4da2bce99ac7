import NIOCore
import PusherProtocol
import RealtimeTestHTTP

/// Passes the requests of sockets to the engines, and their answers to the sockets.
struct HTTPService: HTTPTestService {
    typealias App = (options: PusherTestServer.Options, engine: ServerEngine)

    private let main: App
    private let apps: [App]
    let crossOriginPolicy: CrossOriginPolicy?

    init(options: PusherTestServer.Options, engine: ServerEngine, apps: [App] = []) {
        main = (options, engine)
        self.apps = apps
        crossOriginPolicy = CrossOriginPolicy(
            options,
            hostRule: HostRule.isLoopback(options.host)
                ? HostRule(boundTo: options.host, allowed: options.allowedHosts) : nil
        )
    }

    var eventLoop: any EventLoop { main.engine.eventLoop }

    var limits: HTTPTestLimits {
        HTTPTestLimits(
            maximumRequestSize: main.options.maximumRequestSize,
            requestTimeout: main.options.requestTimeout
        )
    }

    func refusal(ofHead request: HTTPTestRequest) -> HTTPTestResponse? {
        let request = PusherTestServer.Request(request)
        return app(for: request).engine.refusal(ofHead: request).map { $0.http }
    }

    func answered(_ request: HTTPTestRequest, status: Int) {
        let request = PusherTestServer.Request(request)
        app(for: request).engine.note(request, answeredWith: status)
    }

    func respond(to request: HTTPTestRequest, _ exchange: HTTPTestExchange) {
        let request = PusherTestServer.Request(request)
        let (options, engine) = app(for: request)
        if exchange.isUpgrade {
            let link = ListenerLink(exchange, engine: engine, options: options)
            return engine.connectionRequested(request, link: link) { id in link.assign(id) }
        }
        let writer = ResponseWriter(exchange, engine)
        engine.request(request, assign: writer.assign, respond: writer.respond)
    }

    /// Returns the application that a request names: by its key, by its id, or by the socket id of a connection. The main
    /// application gets the other requests, and refuses most of them.
    private func app(for request: PusherTestServer.Request) -> App {
        if apps.isEmpty { return main }
        let parts = request.path.split(separator: "/").map { PercentEncoding.decode($0) }
        let all = [main] + apps
        if parts.first == "apps" {
            return all.first { parts.count > 1 && $0.options.application.id == parts[1] } ?? main
        }
        if AuthorizationCall.isFor(request) {
            guard let socketID = Form(of: request)?["socket_id"] else { return main }
            return all.first { $0.engine.read { $0.hasConnection(withSocketID: socketID) } } ?? main
        }
        // Each application has its own options for the transports over HTTP, but their paths have the same form.
        let path = TransportCall(request, options: .init())?.applicationPath ?? request.path
        let names = path.split(separator: "/").suffix(2).map { PercentEncoding.decode($0) }
        guard names.count == 2, names[0] == "app" else { return main }
        return all.first { $0.options.application.key == names[1] } ?? main
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
            headers: HTTPHeaderFields(request.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
            body: request.body
        )
    }

    var http: HTTPTestRequest {
        HTTPTestRequest(method: method, target: target, fields: headers.map(\.http), body: body)
    }

    private var target: String { query.isEmpty ? path : "\(path)?\(query)" }
}

extension HTTPHeader {
    fileprivate var http: HTTPTestField { HTTPTestField(name: name, value: value) }
}

extension RESTResponse {
    init(_ response: HTTPTestResponse) {
        self.init(
            status: response.status,
            headers: HTTPHeaderFields(response.fields.map { HTTPHeader(name: $0.name, value: $0.value) }),
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
