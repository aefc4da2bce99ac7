import PusherProtocol

/// The beginning and the end of connections.
extension ServerBrain {
    /// Handles a client's request for a WebSocket.
    package mutating func connectionRequested(
        _ id: ConnectionID,
        _ request: PusherTestServer.Request
    ) -> [ServerAction] {
        requestConnection(id, request, nil)
        return takeActions()
    }

    /// - Parameter session: The session of a connection over HTTP; nil for a WebSocket.
    mutating func requestConnection(_ id: ConnectionID, _ request: PusherTestServer.Request, _ session: HTTPSession?) {
        let fault = nextConnectionFault()
        let socketID = fault?.socketID ?? socketID(of: id)
        connections[id] = ServerConnection(socketID: socketID, request: request, http: session, phase: .stalled)
        record(.connectionRequested(request), id)
        if let fault { record(.connectionFailed(fault), id) }
        switch fault {
        case .refused(let status):
            refuseRequest(of: id, status: status)
        case .stalled:
            break
        case .dropped:
            end(id)
        case nil, .silent, .closed, .closedAfterHandshake, .error, .firstMessage:
            accept(id, request)
            begin(id, request, fault)
        }
    }

    /// Handles the end of a TCP connection, even if the server itself has closed the TCP connection.
    package mutating func connectionEnded(_ id: ConnectionID) -> [ServerAction] {
        endConnection(id)
        return takeActions()
    }

    mutating func endConnection(_ id: ConnectionID) {
        guard connections[id] != nil else { return }
        leave(id)
        for (timer, purpose) in timers where purpose == .delay(id) { cancel(timer) }
        record(.connectionEnded, id)
        connections[id] = nil
    }

    private mutating func refuseRequest(of id: ConnectionID, status: Int) {
        connections[id]?.phase = .ended
        let body = "refused with \(status), as requested"
        guard let request = connections[id]?.http?.receiver?.request else {
            return perform(.refuse(id, status: status, body: body))
        }
        perform(.respond(request, RESTResponse(status: status, body: body)))
        endSession(id, isRemembered: false)
    }

    private mutating func accept(_ id: ConnectionID, _ request: PusherTestServer.Request) {
        let offered =
            request.header("Sec-WebSocket-Protocol")?
            .split(separator: ",").map { $0.filter { $0 != " " && $0 != "\t" } } ?? []
        let isEchoed = options.echoesSubprotocol && offered.contains(Self.subprotocol)
        connections[id]?.phase = .open
        connections[id]?.isSilent = isSilent
        if connections[id]?.http == nil {
            perform(.accept(id, subprotocol: isEchoed ? Self.subprotocol : nil))
        } else {
            beginReceiving(id)
        }
        record(.connectionAccepted, id)
    }

    private static let subprotocol = "pusher-channels-protocol-7"

    private mutating func begin(
        _ id: ConnectionID,
        _ request: PusherTestServer.Request,
        _ fault: PusherTestServer.ConnectionFault?
    ) {
        if fault != .silent, connections[id]?.isSilent == false { openSession(id) }
        switch fault {
        case .silent:
            connections[id]?.isSilent = true
        case .closed(let code, let reason):
            close(id, code: code, reason: reason)
        case .closedAfterHandshake(let code, let reason):
            establish(id)
            close(id, code: code, reason: reason)
        case .error(let code, let message):
            say(dialect.error(code: code, message: message), to: id)
            end(id)
        case .firstMessage(let text):
            connections[id]?.isEstablished = fault?.socketID != nil && !isSilent
            say(text, to: id)
        case nil, .refused, .stalled, .dropped:
            if let (code, message) = refusal(of: request, path: connections[id]?.http?.applicationPath) {
                record(.connectionRefused(code: code, message: message), id)
                refuse(id, code: code, message: message)
            } else {
                establish(id)
            }
        }
        restartPingTimer(of: id)
        restartIdleTimer(of: id)
    }

    private mutating func establish(_ id: ConnectionID) {
        guard connections[id]?.isSilent == false else { return }
        connections[id]?.isEstablished = true
        say(dialect.connectionEstablished(socketID: socketID(of: id), activityTimeout: activityTimeout), to: id)
    }

    private func refusal(of request: PusherTestServer.Request, path: String?) -> (code: Int, message: String)? {
        guard let key = Self.applicationKey(inPath: path ?? request.path) else { return (4005, "Path not found") }
        guard dialect.acceptsAnyKey || key == options.application.key else {
            return (4001, "App key \(key) not in this cluster. Did you forget to specify the cluster?")
        }
        guard options.checksProtocolVersion else { return nil }
        guard let version = request.parameters["protocol"] else { return (4008, "No protocol version supplied") }
        guard let number = Int(version) else { return (4006, "Invalid version string format") }
        return (5...7).contains(number) ? nil : (4007, "Unsupported protocol version")
    }

    func hasConnection(withSocketID socketID: String) -> Bool {
        connections.values.contains { $0.socketID == socketID }
    }

    /// Returns the decoded key in a path that ends with `/app/{key}`; nil for other paths.
    static func applicationKey(inPath path: String) -> String? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count >= 3, parts[parts.count - 2] == "app", let key = parts.last, !key.isEmpty else { return nil }
        return PercentEncoding.decode(key)
    }

    // MARK: Endings

    /// Refuses or terminates a connection, as the dialect requires.
    mutating func refuse(_ id: ConnectionID, code: Int, message: String) {
        switch connections[id]?.isEstablished == true ? dialect.termination : dialect.refusal {
        case .close:
            close(id, code: code, reason: message)
        case .errorThenClose:
            say(dialect.error(code: code, message: message), to: id)
            close(id, code: code, reason: message)
        case .errorThenEmptyClose:
            say(dialect.error(code: code, message: message), to: id)
            close(id, code: nil, reason: "")
        case .errorThenDrop:
            say(dialect.error(code: code, message: message), to: id)
            end(id)
        }
    }

    /// Sends a close frame. The server closes the TCP connection after the client's answer or a timeout.
    mutating func close(_ id: ConnectionID, code: Int?, reason: String) {
        guard connections[id]?.phase == .open else { return }
        leave(id)
        connections[id]?.phase = .closing
        enqueue(.frame(.close(code: code, reason: reason)), to: id)
        let timer = schedule(.close(id), after: delay + options.closeTimeout)
        connections[id]?.closeTimer = timer
    }

    /// Sends all waiting output, and then closes the TCP connection.
    mutating func end(_ id: ConnectionID) {
        guard let connection = connections[id], connection.phase != .ended else { return }
        leave(id)
        connections[id]?.phase = .ended
        enqueue(.end, to: id)
    }

    /// Cancels the timers for pings, silence and closing, and removes the connection's subscriptions and its sign-in.
    private mutating func leave(_ id: ConnectionID) {
        guard let connection = connections[id] else { return }
        cancel(connection.pingTimer)
        cancel(connection.pongTimer)
        cancel(connection.idleTimer)
        cancel(connection.closeTimer)
        for channel in connection.channels.elements { removeSubscription(to: channel, from: id) }
        signOut(id)
    }
}
