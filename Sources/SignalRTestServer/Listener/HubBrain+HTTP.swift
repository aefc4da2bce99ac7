import NIOCore
import RealtimeTestHTTP
import SignalRClient
import SignalRCore

/// The answers to clients' requests.
extension HubBrain {
    func answer(_ request: ReceivedRequest, _ exchange: HTTPTestExchange) {
        shared.received(request.record)
        let known = request.token.flatMap { connections[$0] }
        if isSilent(known) {
            // A connection that the client can resume counts the messages that it misses.
            if request.step == .post, let known { received(request.body, from: known) }
            return
        }
        guard let step = request.step else { return exchange.respond(HTTPTestResponse(status: 405)) }
        let authorization = authorization(request)
        if case .refuse(let status) = authorization { return exchange.respond(HTTPTestResponse(status: status)) }
        if let fault = takeFault(step) {
            switch fault {
            case .status(let status): return exchange.respond(HTTPTestResponse(status: status))
            case .body(let body): return exchange.respond(HTTPTestResponse(status: 200, text: body))
            case .answer(let status, let body): return exchange.respond(HTTPTestResponse(status: status, text: body))
            case .silence: return
            }
        }
        switch step {
        case .negotiate: return exchange.respond(negotiate(request, authorization))
        case .refresh: return exchange.respond(refresh(request, authorization))
        case .webSocket: return upgrade(request, authorization, exchange)
        case .serverSentEvents, .poll, .post, .delete: break
        }
        guard request.token != nil else {
            return exchange.respond(HTTPTestResponse(status: 400, text: "Connection ID required"))
        }
        guard let connection = known else { return exchange.respond(Self.unknown) }
        switch step {
        case .negotiate, .refresh, .webSocket: break
        case .serverSentEvents, .poll:
            if hasOtherUser(connection, authorization) { return exchange.respond(HTTPTestResponse(status: 403)) }
            if step == .poll { poll(connection, exchange) } else { openEvents(connection, exchange) }
        case .post: post(request.body, connection, exchange)
        case .delete: delete(connection, exchange)
        }
    }

    private static let unknown = HTTPTestResponse(status: 404, text: "No Connection with that ID")
    private static let changedTransport = HTTPTestResponse(
        status: 400,
        text: "Cannot change transports mid-connection"
    )

    private func authorization(_ request: ReceivedRequest) -> TestHubAuthorization {
        let record = request.record
        let isRedirected = request.step == .negotiate && redirection(request) < redirects
        if let redirectToken {
            if !isRedirected, record.token != redirectToken { return .refuse(status: 401) }
        } else if let token = options.requiredToken, record.token != token {
            return .refuse(status: 401)
        }
        return options.authorize?(record) ?? .allow()
    }

    /// The number of redirects that have led to this negotiation.
    private func redirection(_ request: ReceivedRequest) -> Int { request.query["redirect"].flatMap { Int($0) } ?? 0 }

    private func admit(_ connection: ServerConnection, _ authorization: TestHubAuthorization) {
        guard case .allow(let user, let lifetime) = authorization else { return }
        connection.userID = user
        if let lifetime { authenticate(connection, lifetime: lifetime) }
    }

    /// Returns whether a request has another user than the negotiation of its connection.
    private func hasOtherUser(_ connection: ServerConnection, _ authorization: TestHubAuthorization) -> Bool {
        if case .allow(let user, _) = authorization { user != connection.userID } else { false }
    }

    private static func json(_ status: Int, _ text: String, _ fields: [HTTPTestField] = []) -> HTTPTestResponse {
        HTTPTestResponse(
            status: status,
            fields: [HTTPTestField(name: "Content-Type", value: "application/json")] + fields,
            text: text
        )
    }

    // MARK: Negotiations

    private func negotiate(_ request: ReceivedRequest, _ authorization: TestHubAuthorization) -> HTTPTestResponse {
        guard request.method == "POST" else { return HTTPTestResponse(status: 405) }
        let step = redirection(request)
        if step < redirects {
            let token = redirectToken.map { #","accessToken":"\#($0)""# } ?? ""
            let host = request.headers["host"] ?? ""
            let scheme = options.certificate == nil ? "http" : "https"
            return Self.json(
                200,
                #"{"url":"\#(scheme)://\#(host)\#(options.path)?redirect=\#(step + 1)"\#(token)}"#
            )
        }
        // As in ASP.NET Core, a client that names no version gets version 0, which has no token.
        let version = min(max(request.query["negotiateVersion"].flatMap { Int($0) } ?? 0, 0), 1)
        let mayResume = request.query["useStatefulReconnect"] == "true" && options.allowsStatefulReconnect
        let connection = makeConnection(
            headers: request.headers,
            query: request.query,
            mayResume: mayResume,
            hasToken: version > 0
        )
        admit(connection, authorization)
        let transports = options.transports.map { transport in
            switch transport {
            case .webSockets: #"{"transport":"WebSockets","transferFormats":["Text","Binary"]}"#
            case .serverSentEvents: #"{"transport":"ServerSentEvents","transferFormats":["Text"]}"#
            default: #"{"transport":"LongPolling","transferFormats":["Text","Binary"]}"#
            }
        }
        let token = version > 0 ? #","connectionToken":"\#(connection.token)""# : ""
        let lifetime = Self.seconds(lifetime(authorization)).map { #","tokenLifetimeSeconds":\#($0)"# } ?? ""
        let body = """
            {"negotiateVersion":\(version),"connectionId":"\(connection.id)"\(token),\
            "availableTransports":[\(transports.joined(separator: ","))]\
            \(mayResume ? #","useStatefulReconnect":true"# : "")\(lifetime)}
            """
        return Self.json(200, body, [HTTPTestField(name: "Set-Cookie", value: "server=a; Path=/; HttpOnly")])
    }

    private func lifetime(_ authorization: TestHubAuthorization) -> Duration? {
        if case .allow(_, let lifetime?) = authorization { return lifetime }
        return options.tokenLifetime
    }

    /// A lifetime in whole seconds, as in ASP.NET Core.
    private static func seconds(_ lifetime: Duration?) -> Int? {
        lifetime.map { Int(max($0, .zero).components.seconds) }
    }

    private func refresh(_ request: ReceivedRequest, _ authorization: TestHubAuthorization) -> HTTPTestResponse {
        guard request.method == "POST" else { return HTTPTestResponse(status: 405) }
        let lifetime = lifetime(authorization)
        guard let seconds = Self.seconds(lifetime) else { return HTTPTestResponse(status: 404) }
        guard let token = request.token else {
            return Self.json(400, #"{"error":"missing_connection_token"}"#)
        }
        guard let connection = connections[token] else {
            return Self.json(404, #"{"error":"connection_not_found"}"#)
        }
        if hasOtherUser(connection, authorization) {
            return Self.json(403, #"{"error":"user_changed"}"#)
        }
        connection.headers["authorization"] = request.headers["authorization"]
        authenticate(connection, lifetime: lifetime)
        if connection.isHandshakeDone, let coder = connection.coder {
            let refreshed = TestHubConnection(connection, coder, entrance)
            shared.changed(refreshed)
            let handlers = refreshedHandlers
            runHandlers(of: connection) { for handler in handlers { await handler(refreshed) } }
        }
        return Self.json(200, #"{"tokenLifetimeSeconds":\#(seconds)}"#)
    }

    // MARK: Faults

    private func takeFault(_ step: TestHubStep) -> TestHubFault? {
        guard let index = stepFaults.firstIndex(where: { $0.step == step }) else { return nil }
        guard stepFaults[index].skip == 0 else {
            stepFaults[index].skip -= 1
            return nil
        }
        stepFaults[index].count -= 1
        defer { if stepFaults[index].count <= 0 { stepFaults.remove(at: index) } }
        return stepFaults[index].fault
    }

    // MARK: Transports

    /// Returns whether the hub offers a transport. Otherwise, the request gets its answer.
    private func offers(_ transport: HttpTransportType, _ exchange: HTTPTestExchange) -> Bool {
        if options.transports.contains(transport) || !options.requires(.onlyOfferedTransports) { return true }
        let name =
            switch transport {
            case .webSockets: "WebSockets"
            case .serverSentEvents: "ServerSentEvents"
            default: "LongPolling"
            }
        let text = "\(name) transport not supported by this end point type"
        exchange.respond(HTTPTestResponse(status: 404, text: text))
        return false
    }

    private func upgrade(
        _ request: ReceivedRequest,
        _ authorization: TestHubAuthorization,
        _ exchange: HTTPTestExchange
    ) {
        guard exchange.isUpgrade else { return exchange.respond(HTTPTestResponse(status: 400)) }
        guard offers(.webSockets, exchange) else { return }
        let connection: ServerConnection
        if let token = request.token {
            guard let known = connections[token] else { return exchange.respond(Self.unknown) }
            if hasOtherUser(known, authorization) { return exchange.respond(HTTPTestResponse(status: 403)) }
            if let link = known.link, link.transport != .webSockets { return exchange.respond(Self.changedTransport) }
            // A new upgrade can replace the transport of a resumable connection, because the server may not have noticed
            // the loss yet.
            guard known.link == nil || known.resumption != nil else {
                return exchange.respond(HTTPTestResponse(status: 409))
            }
            connection = known
        } else {
            connection = makeConnection(headers: request.headers, query: request.query)
            admit(connection, authorization)
        }
        // Several hub messages may share a WebSocket message, so the limit of one does not apply to the other.
        var rules = HTTPTestSocket.Rules(maximumMessageSize: 64 << 20)
        rules.requiresMasks = options.requires(.maskedFrames)
        rules.forbidsReserved = options.requires(.noReservedFrames)
        rules.requiresUTF8 = options.requires(.textIsUTF8)
        let token = connection.token
        let link = NIOLoopBoundBox<WebSocketLink?>(nil, eventLoop: eventLoop)
        let clean = NIOLoopBoundBox(false, eventLoop: eventLoop)
        let socket = exchange.accept(rules: rules) { [entrance] event in
            entrance.enter { brain in
                guard let link = link.value else { return }
                let connection = brain.connections[token].flatMap { $0.link === link ? $0 : nil }
                if brain.isSilent(connection) {
                    // The connection must still count the messages that it misses.
                    if case .message(_, let bytes) = event, let connection { brain.received(bytes, from: connection) }
                    return
                }
                switch event {
                case .message(_, let bytes): if let connection { brain.received(bytes, from: connection) }
                case .ping(let payload): link.pong(payload)
                case .pong: break
                case .close(let code, _):
                    if code == 1000 || code == nil { clean.value = true }
                    link.closed(code: code)
                case .violation(let code, let reason):
                    connection?.error = reason
                    link.close(code: code)
                }
            }
        }
        let webSocket = WebSocketLink(socket, limit: options.maximumQueueSize)
        link.value = webSocket
        attach(webSocket, to: connection)
        socket.channel.closeFuture.whenComplete { [entrance] _ in
            entrance.enter { brain in
                guard let link = link.value, let connection = brain.connections[token] else { return }
                brain.detach(link, from: connection, isClean: clean.value)
            }
        }
    }

    private func post(_ body: [UInt8], _ connection: ServerConnection, _ exchange: HTTPTestExchange) {
        switch connection.link?.transport {
        case .webSockets where options.requires(.noPostOnWebSocket):
            let text = "POST requests are not allowed for WebSocket connections."
            return exchange.respond(HTTPTestResponse(status: 405, text: text))
        case nil where options.requires(.noPostBeforeTransport):
            return exchange.respond(HTTPTestResponse(status: 400))
        default: break
        }
        received(body, from: connection)
        exchange.respond(HTTPTestResponse(status: 200))
    }

    private func delete(_ connection: ServerConnection, _ exchange: HTTPTestExchange) {
        guard let link = connection.link as? PollLink else {
            let text = "Cannot terminate this connection using the DELETE endpoint."
            return exchange.respond(HTTPTestResponse(status: 400, text: text))
        }
        link.close()
        end(connection)
        exchange.respond(HTTPTestResponse(status: 202))
    }

    private func poll(_ connection: ServerConnection, _ exchange: HTTPTestExchange) {
        guard offers(.longPolling, exchange) else { return }
        if let link = connection.link as? PollLink { return link.poll(exchange) }
        guard connection.link == nil else { return exchange.respond(Self.changedTransport) }
        let token = connection.token
        let link = PollLink(limit: options.maximumQueueSize, on: eventLoop) { [entrance] event in
            entrance.enter { brain in
                guard let connection = brain.connections[token], let link = connection.link else { return }
                switch event {
                case .polled: brain.polled(connection)
                case .unpolled: brain.expectPoll(connection)
                case .ended: brain.detach(link, from: connection)
                }
            }
        }
        // The server answers the first poll at once, to show the client that the transport works.
        exchange.respond(HTTPTestResponse(status: 200))
        attach(link, to: connection)
        expectPoll(connection)
    }

    private func openEvents(_ connection: ServerConnection, _ exchange: HTTPTestExchange) {
        guard offers(.serverSentEvents, exchange) else { return }
        guard connection.link == nil else { return exchange.respond(Self.changedTransport) }
        let link = EventLink(exchange, limit: options.maximumQueueSize)
        link.begin()
        let token = connection.token
        exchange.whenEnded { [entrance] in
            entrance.enter { brain in
                guard let connection = brain.connections[token], let link = connection.link else { return }
                brain.detach(link, from: connection)
            }
        }
        attach(link, to: connection)
    }
}
