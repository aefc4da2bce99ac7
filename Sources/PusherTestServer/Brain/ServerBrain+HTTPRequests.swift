/// The requests of HTTP transports.
extension ServerBrain {
    package mutating func transportRequest(_ id: RequestID, _ call: TransportCall) -> [ServerAction] {
        if let fault = nextTransportFault(of: call.kind) {
            record(.transportRequestFailed(fault))
            befall(fault, id, call)
        } else {
            obey(id, call)
        }
        return takeActions()
    }

    /// Handles the end of a response. The client has received the whole response, or the TCP connection is closed.
    package mutating func requestEnded(_ id: RequestID) -> [ServerAction] {
        cancel(delayedRequests.removeValue(forKey: id))
        if let connection = receivers[id] { detach(id, from: connection) }
        return takeActions()
    }

    /// Counts bytes of the response that have probably reached the client.
    package mutating func delivered(_ count: Int, of id: RequestID) -> [ServerAction] {
        guard let connection = receivers[id] else { return [] }
        connections[connection]?.http?.delivered(count, of: id)
        if connections[connection]?.http?.replaced?.request == id { awaitReplaced(of: connection) }
        flushSession(connection)
        return takeActions()
    }

    mutating func obey(_ id: RequestID, _ call: TransportCall) {
        if let refusal = refusal(of: call) {
            answer(id, call.request, refusal)
        } else if call.request.method == "OPTIONS" {
            perform(.respond(id, RESTResponse(status: 204, headers: [Self.allowedMethods], body: "")))
        } else if call.kind == .sending {
            takeMessages(id, call)
        } else {
            receive(id, call)
        }
    }

    /// Returns the answer if the server refuses the request without parsing its body; nil otherwise.
    func refusal(of call: TransportCall) -> RESTResponse? {
        guard call.request.body.count <= options.maximumRequestSize else {
            return RESTFailure.bodyTooLarge(limit: options.maximumRequestSize).response
        }
        switch call.request.method {
        case "OPTIONS": return nil
        case "POST": break
        default: return RESTResponse(status: 405, headers: [Self.allowedMethods], body: "only POST is allowed")
        }
        switch (call.kind, sessions[call.session]) {
        case (.sending, let connection):
            if let connection, connections[connection]?.phase != .stalled { return nil }
            return RESTFailure.notFound("there is no such session").response
        case (_, nil) where lostSessions.contains(call.session):
            return RESTFailure.notFound("the session has ended").response
        case (_, nil) where sessions.count >= options.httpTransports.maximumSessionCount:
            return RESTResponse(status: 503, body: "there are too many sessions: see maximumSessionCount")
        default: return nil
        }
    }

    private static let allowedMethods = HTTPHeader(name: "Allow", value: "OPTIONS, POST")

    // MARK: Sending

    private mutating func takeMessages(_ id: RequestID, _ call: TransportCall) {
        guard let connection = sessions[call.session], let messages = call.messages else {
            // SockJS answers with status 500.
            let body = "the body must be a JSON array of strings"
            return answer(id, call.request, RESTResponse(status: 500, body: body))
        }
        perform(.respond(id, RESTResponse(status: 204, body: "")))
        if messages.isEmpty { hear(.ping([]), on: connection) }
        for message in messages {
            guard message.utf8.count <= options.maximumMessageSize else {
                return hear(.violation(code: 1009, reason: "the message is too long"), on: connection)
            }
            hear(.text(message), on: connection)
        }
    }

    // MARK: Receiving

    private mutating func receive(_ id: RequestID, _ call: TransportCall) {
        let isStreaming = call.kind == .streaming
        guard let connection = sessions[call.session] else { return open(id, call, isStreaming: isStreaming) }
        if connections[connection]?.phase == .stalled { return perform(.ignore(id)) }
        if !isStreaming, options.httpTransports.secondPoll == .refused,
            connections[connection]?.http?.receiver?.isFinished == false
        {
            return refuseSecondRequest(id)
        }
        replaceReceiver(of: connection)
        attach(id, to: connection, isStreaming: isStreaming)
        flushSession(connection)
    }

    private mutating func open(_ id: RequestID, _ call: TransportCall, isStreaming: Bool) {
        let connection = makeConnectionID()
        sessions[call.session] = connection
        var session = HTTPSession(
            name: call.session,
            applicationPath: call.applicationPath,
            isStreaming: isStreaming
        )
        session.receiver = .init(id, isStreaming: isStreaming)
        receivers[id] = connection
        requestConnection(connection, call.request, session)
    }

    /// Refuses a second receiving request, because the open request gets all frames.
    mutating func refuseSecondRequest(_ id: RequestID) {
        begin(id)
        perform(.write(id, HTTPSession.closeLine(code: 2010, reason: "Another connection still open")))
        perform(.endResponse(id))
    }

    /// Begins a response that carries frames.
    mutating func begin(_ id: RequestID) {
        perform(.beginResponse(id, status: 200, headers: Self.frameHeaders))
    }

    private static let frameHeaders: HTTPHeaderFields = [
        "Content-Type": "application/javascript; charset=UTF-8",
        "Cache-Control": "no-store, no-cache, no-transform, must-revalidate, max-age=0",
    ]
}
