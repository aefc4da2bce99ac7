import NIOConcurrencyHelpers
package import NIOCore
import RealtimeTestHTTP

/// An HTTP request to an ``InMemoryServer``.
package struct InMemoryRequest: Hashable, Sendable {
    package var method: String
    /// The path with its query.
    package var target: String
    package var headers: HTTPHeaderFields
    package var body: ByteBuffer

    package init(
        method: String = "POST",
        target: String,
        headers: HTTPHeaderFields = [:],
        body: ByteBuffer = ByteBuffer()
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
    }

    package init(
        method: String = "POST",
        target: String,
        headers: HTTPHeaderFields = [:],
        body: String
    ) {
        self.init(method: method, target: target, headers: headers, body: ByteBuffer(string: body))
    }
}

/// An event for a client, in answer to an ``InMemoryRequest``. No event follows `end` or `failed`.
package enum InMemoryResponseEvent: Hashable, Sendable {
    case head(status: Int, headers: HTTPHeaderFields)
    /// A piece of the body, as the server wrote it.
    case body(ByteBuffer)
    case end
    /// The server does not listen, or the TCP connection was lost before the end of the response.
    case failed(String)
}

/// A request to an ``InMemoryServer`` and its response, on their own TCP connection.
///
/// You can call the methods on any thread. The methods return at once, and do nothing after the exchange has ended.
package final class InMemoryExchange: Sendable {
    private let server: InMemoryServer
    private let number: Int
    private let clientLoop: any EventLoop
    private let state: NIOLockedValueBox<State>

    fileprivate struct State {
        /// The client's receiver; nil after the client has closed its side.
        var receive: (@Sendable (InMemoryResponseEvent) -> Void)?
        var request: RequestID?
        var isBlackHole = false
        var isReading = true
        /// Whether the server has closed its side. Afterwards, the server gets and sends nothing.
        var hasServerEnded = false
        var toClient = Direction<ClientInput>()
        var toServer = Direction<ServerInput>()
        /// The events that arrived while the client did not read.
        var unread = CircularBuffer<ClientInput>()
    }

    fileprivate enum ClientInput: Sendable {
        case event(InMemoryResponseEvent)
        case lost(String)
    }

    fileprivate enum ServerInput: Sendable {
        case request(PusherTestServer.Request)
        case end
    }

    init(
        server: InMemoryServer,
        number: Int,
        clientLoop: any EventLoop,
        receive: @escaping @Sendable (InMemoryResponseEvent) -> Void
    ) {
        self.server = server
        self.number = number
        self.clientLoop = clientLoop
        state = NIOLockedValueBox(State(receive: receive))
    }

    // MARK: What the client does

    /// Closes the TCP connection. The client gets no more events. The server considers pending bytes lost.
    package func abort() {
        state.withLockedValue { $0.receive = nil }
        send(.end)
    }

    /// Stops or continues reading. While the client does not read, the server writes only a limited number of bytes.
    package func setReading(_ isReading: Bool) {
        state.withLockedValue { $0.isReading = isReading }
        if isReading { clientLoop.execute { self.handOver() } }
    }

    // MARK: What the network does

    /// Cuts the TCP connection for both sides.
    package func cut() {
        arrive(.lost("the connection was cut"))
        send(.end)
    }

    /// Starts or stops dropping everything, in both directions.
    package func setBlackHole(_ isBlackHole: Bool) {
        state.withLockedValue { $0.isBlackHole = isBlackHole }
    }

    func start(_ request: PusherTestServer.Request, fault: InMemoryServer.LinkFault?) {
        switch fault {
        case nil: send(.request(request))
        case .unreachable: arrive(.lost("nobody listens"))
        case .blackHole: setBlackHole(true)
        }
    }

    private func send(_ input: ServerInput) {
        let id = state.withLockedValue { state in state.isBlackHole ? nil : state.toServer.append(input) }
        guard let id else { return }
        server.afterLatency(on: server.engine.eventLoop) { self.deliverToServer(id) }
    }

    private func arrive(_ input: ClientInput) {
        let id = state.withLockedValue { state in state.isBlackHole ? nil : state.toClient.append(input) }
        guard let id else { return }
        server.afterLatency(on: clientLoop) { self.deliverToClient(id) }
    }

    // MARK: The server's side

    private func deliverToServer(_ id: Int) {
        for input in state.withLockedValue({ $0.toServer.queue.markDue(id) }) {
            switch input {
            case .request(let request): begin(request)
            case .end: endServerSide()
            }
        }
    }

    private func begin(_ request: PusherTestServer.Request) {
        guard !state.withLockedValue({ $0.hasServerEnded }) else { return }
        let policy = server.crossOriginPolicy
        let fields = policy.headers(for: request.http)
        if let response = policy.refusal(of: request.http) ?? policy.preflightResponse(to: request.http) {
            server.engine.note(request, answeredWith: response.status)
            return respond(.whole(RESTResponse(response.adding(fields))))
        }
        server.engine.request(
            request,
            assign: { id in self.state.withLockedValue { $0.request = id } },
            respond: { part in self.respond(part.adding(fields)) }
        )
    }

    private func respond(_ part: ResponsePart) {
        guard !state.withLockedValue({ $0.hasServerEnded }) else { return }
        switch part {
        case .head(let response):
            arrive(.event(.head(status: response.status, headers: response.headers)))
        case .bytes(let bytes):
            arrive(.event(.body(ByteBuffer(bytes: bytes))))
        case .flush: break
        case .whole(let response):
            arrive(.event(.head(status: response.status, headers: response.headers)))
            if !response.body.isEmpty { arrive(.event(.body(ByteBuffer(string: response.body)))) }
            arrive(.event(.end))
        case .end:
            arrive(.event(.end))
        case .dropped:
            arrive(.lost("the connection was lost"))
        case .abandoned:
            state.withLockedValue { state in
                state.toClient.queue = DelayedQueue()
                state.unread.removeAll()
            }
            arrive(.lost("the connection was lost"))
            server.engine.eventLoop.execute { self.endServerSide() }
        }
    }

    private func endServerSide() {
        let request = state.withLockedValue { state -> RequestID? in
            defer { state.hasServerEnded = true }
            return state.hasServerEnded ? nil : state.request
        }
        if let request { server.engine.requestEnded(request) }
        server.remove(exchange: number)
    }

    // MARK: The client's side

    private func deliverToClient(_ id: Int) {
        state.withLockedValue { state in state.unread += state.toClient.queue.markDue(id) }
        handOver()
    }

    private func handOver() {
        while let (input, receive) = state.withLockedValue({ $0.takeUnread() }) {
            switch input {
            case .event(let event):
                // Report the delivery before the client can send its next request.
                if case .body(let bytes) = event { reportDelivery(of: bytes.readableBytes) }
                if event == .end { endBothSides() }
                receive(event)
            case .lost(let reason):
                endBothSides()
                receive(.failed(reason))
            }
        }
    }

    private func reportDelivery(of count: Int) {
        let (request, hasEnded) = state.withLockedValue { ($0.request, $0.hasServerEnded) }
        if let request, !hasEnded { server.engine.delivered(count, of: request) }
    }

    private func endBothSides() {
        state.withLockedValue { $0.receive = nil }
        endServerSide()
    }
}

extension InMemoryExchange.State {
    fileprivate mutating func takeUnread()
        -> (InMemoryExchange.ClientInput, @Sendable (InMemoryResponseEvent) -> Void)?
    {
        guard let receive else {
            unread.removeAll()
            return nil
        }
        return isReading ? unread.popFirst().map { ($0, receive) } : nil
    }
}

extension ResponsePart {
    fileprivate func adding(_ headers: [HTTPTestField]) -> ResponsePart {
        switch self {
        case .head(let response): .head(response.adding(headers))
        case .whole(let response): .whole(response.adding(headers))
        case .bytes, .flush, .end, .dropped, .abandoned: self
        }
    }
}
