import NIOCore
import SignalRClient
import SignalRCore

/// The answers to clients' requests.
extension HubBrain {
    // MARK: WebSockets

    /// Returns whether an upgrade succeeds. If the upgrade fails, ``answer(_:_:)`` sends the reason.
    func acceptsUpgrade(_ request: ReceivedRequest) -> Bool {
        guard request.isForHub, isAuthorized(request), !hasFault(.webSocket) else { return false }
        guard let token = request.query["id"] else { return true }
        guard let connection = connections[token] else { return false }
        // A new upgrade can replace the transport of a resumable connection, because the server may not have noticed
        // the loss yet.
        return connection.link == nil || connection.resumption != nil
    }

    /// Handles a successful upgrade.
    func upgraded(_ request: ReceivedRequest, _ link: any ServerLink) -> ServerConnection? {
        shared.received(request.record)
        countFault(.webSocket)
        let connection = request.query["id"].map { connections[$0] } ?? makeConnection(headers: request.headers)
        if let connection { attach(link, to: connection) }
        return connection
    }

    // MARK: Requests

    func answer(_ request: ReceivedRequest, _ exchange: HTTPExchange) {
        shared.received(request.record)
        guard request.isForHub else { return exchange.respond(.text(404, "")) }
        guard isAuthorized(request) else { return exchange.respond(.text(401, "")) }
        let step = request.step
        if let fault = takeFault(step) {
            switch fault {
            case .status(let status): return exchange.respond(.text(status, ""))
            case .body(let body): return exchange.respond(.text(200, body))
            case .answer(let status, let body): return exchange.respond(.text(status, body))
            case .silence: return
            }
        }
        if isSilent { return }
        if step == .negotiate { return exchange.respond(negotiate(request)) }
        if step == .refresh { return exchange.respond(refresh(request)) }
        guard let token = request.query["id"] else { return exchange.respond(.text(400, "")) }
        guard let connection = connections[token] else { return exchange.respond(.text(404, "")) }
        switch step {
        case .negotiate, .refresh: break
        case .webSocket: exchange.respond(.text(409, ""))
        case .serverSentEvents: openEvents(connection, exchange)
        case .poll: poll(connection, exchange)
        case .post:
            received(request.body, from: connection)
            exchange.respond(.text(200, ""))
        case .delete:
            let link = connection.link as? PollLink
            link?.end()
            end(connection)
            exchange.respond(.text(202, ""))
        }
    }

    private func isAuthorized(_ request: ReceivedRequest) -> Bool {
        guard let token = options.requiredToken else { return true }
        return request.headers["authorization"] == "Bearer \(token)" || request.query["access_token"] == token
    }

    private func negotiate(_ request: ReceivedRequest) -> HubResponse {
        guard request.method == "POST" else { return .text(405, "") }
        let step = request.query["redirect"].flatMap { Int($0) } ?? 0
        if step < redirects {
            let token = redirectToken.map { #","accessToken":"\#($0)""# } ?? ""
            let host = request.headers["host"] ?? ""
            return .text(200, #"{"url":"http://\#(host)/hub?redirect=\#(step + 1)"\#(token)}"#)
        }
        // As in ASP.NET Core, a client that names no version gets version 0, which has no token.
        let version = min(max(request.query["negotiateVersion"].flatMap { Int($0) } ?? 0, 0), 1)
        let connection = makeConnection(headers: request.headers, hasToken: version > 0)
        let transports = options.transports.map { transport in
            switch transport {
            case .webSockets: #"{"transport":"WebSockets","transferFormats":["Text","Binary"]}"#
            case .serverSentEvents: #"{"transport":"ServerSentEvents","transferFormats":["Text"]}"#
            default: #"{"transport":"LongPolling","transferFormats":["Text","Binary"]}"#
            }
        }
        let token = version > 0 ? #","connectionToken":"\#(connection.token)""# : ""
        let wantsResumption = request.query["useStatefulReconnect"] == "true"
        let body = """
            {"negotiateVersion":\(version),"connectionId":"\(connection.id)"\(token),\
            "availableTransports":[\(transports.joined(separator: ","))]\
            \(wantsResumption && options.allowsStatefulReconnect ? #","useStatefulReconnect":true"# : "")\
            \(tokenLifetime.map { #","tokenLifetimeSeconds":\#($0)"# } ?? "")}
            """
        return .text(200, body, [("Content-Type", "application/json"), ("Set-Cookie", "server=a; Path=/; HttpOnly")])
    }

    /// The lifetime of tokens in whole seconds, as in ASP.NET Core.
    private var tokenLifetime: Int? { options.tokenLifetime.flatMap { Int(exactly: max($0, 0).rounded(.down)) } }

    private func refresh(_ request: ReceivedRequest) -> HubResponse {
        guard request.method == "POST" else { return .text(405, "") }
        guard let tokenLifetime else { return .text(404, "") }
        let json = [("Content-Type", "application/json")]
        guard let token = request.headers["x-signalr-connection-token"] else {
            return .text(400, #"{"error":"missing_connection_token"}"#, json)
        }
        guard let connection = connections[token] else {
            return .text(404, #"{"error":"connection_not_found"}"#, json)
        }
        connection.headers["authorization"] = request.headers["authorization"]
        authenticate(connection)
        return .text(200, #"{"tokenLifetimeSeconds":\#(tokenLifetime)}"#, json)
    }

    // MARK: Faults

    private func hasFault(_ step: TestHubStep) -> Bool {
        faults.contains { $0.step == step && $0.skip == 0 && $0.count > 0 }
    }

    /// Counts a request of the step that the server answers correctly before the next fault.
    private func countFault(_ step: TestHubStep) {
        if let index = faults.firstIndex(where: { $0.step == step && $0.skip > 0 }) { faults[index].skip -= 1 }
    }

    private func takeFault(_ step: TestHubStep) -> TestHubFault? {
        guard let index = faults.firstIndex(where: { $0.step == step }) else { return nil }
        guard faults[index].skip == 0 else {
            faults[index].skip -= 1
            return nil
        }
        faults[index].count -= 1
        defer { if faults[index].count <= 0 { faults.remove(at: index) } }
        return faults[index].fault
    }

    // MARK: Long polling and events

    private func poll(_ connection: ServerConnection, _ exchange: HTTPExchange) {
        if let link = connection.link as? PollLink { return link.poll(exchange) }
        guard connection.link == nil else { return exchange.respond(.text(409, "")) }
        let token = connection.token
        let link = PollLink(timeout: options.pollTimeout, limit: options.maximumQueueSize, on: eventLoop) {
            [entrance] in
            entrance.enter { brain in
                guard let connection = brain.connections[token], let link = connection.link else { return }
                brain.detach(link, from: connection)
            }
        }
        // The server answers the first poll at once, to show the client that the transport works.
        exchange.respond(.text(200, ""))
        attach(link, to: connection)
    }

    private func openEvents(_ connection: ServerConnection, _ exchange: HTTPExchange) {
        guard connection.link == nil else { return exchange.respond(.text(409, "")) }
        let link = EventLink(exchange, limit: options.maximumQueueSize)
        exchange.begin("text/event-stream")
        exchange.write(Array(":\r\n".utf8))
        attach(link, to: connection)
        let token = connection.token
        exchange.closed.whenComplete { [entrance] _ in
            entrance.enter { brain in
                guard let connection = brain.connections[token], let link = connection.link else { return }
                brain.detach(link, from: connection)
            }
        }
    }
}

/// A link that answers polls with the waiting messages.
final class PollLink: ServerLink {
    private let timeout: Double
    private let limit: Int
    private let eventLoop: any EventLoop
    private let ended: @Sendable () -> Void
    private var waiting: (exchange: HTTPExchange, timer: Scheduled<Void>)?
    private var bytes: [UInt8] = []
    private var isEnded = false
    private var isDropped = false

    /// - Parameters:
    ///   - limit: The maximum number of waiting bytes.
    ///   - ended: A closure that the link calls after it has answered a poll with the end of the connection (status
    ///     204), and after it was dropped.
    init(timeout: Double, limit: Int, on eventLoop: any EventLoop, ended: @escaping @Sendable () -> Void) {
        self.timeout = timeout
        self.limit = limit
        self.eventLoop = eventLoop
        self.ended = ended
    }

    func poll(_ exchange: HTTPExchange) {
        if isDropped { return exchange.drop() }
        respond(HubResponse(status: 204))
        let link = NIOLoopBound(self, eventLoop: eventLoop)
        let timer = eventLoop.scheduleTask(in: TimeAmount(Duration(clampingSeconds: timeout))) {
            link.value.respond(.text(200, ""))
        }
        waiting = (exchange, timer)
        flush()
    }

    private func respond(_ response: HubResponse) {
        guard let waiting else { return }
        self.waiting = nil
        waiting.timer.cancel()
        waiting.exchange.respond(response)
    }

    private func flush() {
        guard waiting != nil else { return }
        if !bytes.isEmpty {
            respond(HubResponse(status: 200, body: bytes))
            bytes = []
        } else if isEnded {
            respond(HubResponse(status: 204))
            ended()
        }
    }

    func write(_ bytes: [UInt8], isBinary: Bool) {
        if isDropped { return }
        if self.bytes.count > limit { return drop() }
        self.bytes += bytes
        flush()
    }

    func close() {
        isEnded = true
        flush()
    }

    func end() { close() }

    func drop() {
        isDropped = true
        waiting?.timer.cancel()
        waiting?.exchange.drop()
        waiting = nil
        ended()
    }
}

/// A link that sends events.
final class EventLink: ServerLink {
    private let exchange: HTTPExchange
    private let limit: Int

    /// - Parameter limit: The maximum number of waiting bytes.
    init(_ exchange: HTTPExchange, limit: Int) {
        self.exchange = exchange
        self.limit = limit
    }

    func write(_ bytes: [UInt8], isBinary: Bool) {
        if exchange.hasUnsentBytes(beyond: limit) { return drop() }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        exchange.write(Array((lines.map { "data: \($0)\r\n" }.joined() + "\r\n").utf8))
    }

    func close() { exchange.drop() }
    func drop() { exchange.drop() }
}
