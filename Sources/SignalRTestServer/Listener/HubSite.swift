import NIOConcurrencyHelpers
import NIOCore
import NIOSSL
import RealtimeTestHTTP
import SignalRClient

/// The listener of a server, and the hubs and endpoints behind it.
final class HubSite: HTTPTestService {
    typealias Endpoint = @Sendable (TestHubRequest) async throws -> TestHubResponse

    private struct Hub {
        var entrance: HubEntrance
        var shared: SharedRecords
    }

    private struct State {
        var hubs: [String: Hub] = [:]
        var endpoints: [String: Endpoint] = [:]
        var listener: Listener?
    }

    let eventLoop: any EventLoop
    let usesTLS: Bool
    private let options: TestHubOptions
    private let state = NIOLockedValueBox(State())

    let limits = HTTPTestLimits()
    let crossOriginPolicy: CrossOriginPolicy?

    private static let host = "127.0.0.1"

    init(_ options: TestHubOptions, on eventLoop: any EventLoop) throws {
        guard (0...65_535).contains(options.port) else { throw Self.failure(options.port, nil) }
        self.options = options
        self.eventLoop = eventLoop
        usesTLS = options.certificate != nil
        crossOriginPolicy = CrossOriginPolicy(
            allowedOrigins: options.allowedOrigins,
            hostRule: HostRule(boundTo: Self.host, allowed: options.allowedHosts),
            methods: ["GET", "POST", "DELETE"]
        )
    }

    private static func failure(_ port: Int, _ cause: (any Error)?) -> SignalRClientError {
        SignalRClientError(
            .connectionFailed,
            "Server not started: it cannot listen on \(host), port \(port). Choose another port, or 0 for any.",
            cause: cause
        )
    }

    func start() async throws {
        let listener = Listener(
            eventLoop: eventLoop,
            host: Self.host,
            port: options.port,
            bindFailure: { _, port, error in Self.failure(port, error) },
            makePreparation: { [self] in
                let tls = try context()
                return { [self] channel in
                    try HTTPRequestHandler.addHandlers(to: channel.pipeline.syncOperations, service: self, tls: tls)
                }
            }
        )
        state.withLockedValue { $0.listener = listener }
        try await listener.start()
    }

    private func context() throws -> NIOSSLContext? {
        guard let certificate = options.certificate else { return nil }
        do {
            return try HTTPTestCertificate(chain: certificate.certificateChain, privateKey: certificate.privateKey)
                .context()
        } catch {
            throw SignalRClientError(
                .tlsFailed,
                "Server not started: the certificate or its private key cannot be used. Pass both in PEM form.",
                cause: error
            )
        }
    }

    var port: Int { state.withLockedValue { $0.listener }?.port ?? 0 }

    func shutdown() async { await takeListener()?.shutdown() }

    func beginShutdown() { takeListener()?.beginShutdown() }

    /// Removes and shuts down the hubs, and returns the listener that must be shut down.
    private func takeListener() -> Listener? {
        let (listener, hubs) = state.withLockedValue { state in
            defer { (state.listener, state.hubs, state.endpoints) = (nil, [:], [:]) }
            return (state.listener, state.hubs.values)
        }
        for hub in hubs { hub.entrance.enter { $0.shutDown() } }
        return listener
    }

    /// Returns a path with a slash at its start and none at its end, by which the site finds hubs and endpoints. The
    /// root is the empty path.
    static func key(of path: String) -> String {
        let start = path.hasPrefix("/") ? path : "/" + path
        return start.hasSuffix("/") ? String(start.dropLast()) : start
    }

    /// - Parameter path: The path as ``key(of:)`` returns it.
    func add(_ path: String, _ entrance: HubEntrance, _ shared: SharedRecords) {
        let former = state.withLockedValue { state in
            state.hubs.updateValue(Hub(entrance: entrance, shared: shared), forKey: path)
        }
        former?.entrance.enter { $0.shutDown() }
    }

    /// Removes a hub, unless another one has its path.
    func remove(_ path: String, _ shared: SharedRecords) {
        state.withLockedValue { state in
            if state.hubs[path]?.shared === shared { state.hubs[path] = nil }
        }
    }

    func respond(at path: String, _ endpoint: @escaping Endpoint) {
        state.withLockedValue { $0.endpoints[Self.key(of: path)] = endpoint }
    }

    // MARK: HTTPTestService

    func respond(to received: HTTPTestRequest, _ exchange: HTTPTestExchange) {
        let request = ReceivedRequest(received)
        let (hub, endpoint) = state.withLockedValue { state in
            (state.hubs[request.hubPath], state.endpoints[Self.key(of: request.path)])
        }
        if let hub {
            return hub.entrance.enter { brain in
                brain.answer(request, exchange)
            } closed: {
                exchange.drop()
            }
        }
        var record = request.record
        state.withLockedValue { $0.hubs[Self.key(of: options.path)] }?.shared.received(record)
        guard let endpoint else { return exchange.respond(HTTPTestResponse(status: 404)) }
        record.body = request.body
        Task { [record] in
            let response = (try? await endpoint(record)) ?? TestHubResponse(status: 500)
            let fields = response.headers.map { HTTPTestField(name: $0.key, value: $0.value) }
            exchange.respond(HTTPTestResponse(status: response.status, fields: fields, body: response.body))
        }
    }
}

/// A request with the parts that the brain needs.
struct ReceivedRequest: Sendable {
    var method: String
    var target: String
    var headers: [String: String] = [:]
    var body: [UInt8]
    /// The path of the hub, without the name of the negotiation or of the refresh.
    var hubPath: String
    var path: String
    var query: [String: String]
    /// The kind of the request; `nil` for another method of HTTP.
    var step: TestHubStep?

    init(_ request: HTTPTestRequest) {
        method = request.method
        target = request.target
        for field in request.fields { headers[field.name.lowercased()] = field.value }
        body = request.body
        path = request.path
        hubPath = HubSite.key(of: path)
        query = [:]
        step =
            switch method {
            case "POST": .post
            case "DELETE": .delete
            case "GET" where headers["upgrade"]?.lowercased() == "websocket": .webSocket
            case "GET" where headers["accept"]?.contains("text/event-stream") == true: .serverSentEvents
            case "GET": .poll
            default: nil
            }
        for (name, step) in [("/negotiate", TestHubStep.negotiate), ("/refresh", .refresh)]
        where hubPath.hasSuffix(name) {
            hubPath.removeLast(name.count)
            self.step = step
        }
        query = record.query
    }

    /// The token of the connection that the request names.
    var token: String? { step == .refresh ? headers["x-signalr-connection-token"] : query["id"] }

    /// The request without its body.
    var record: TestHubRequest {
        TestHubRequest(method: method, target: target, headers: headers, bodySize: body.count)
    }
}
