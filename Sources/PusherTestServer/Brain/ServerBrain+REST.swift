import PusherProtocol

/// The REST API (protocol clause 13).
extension ServerBrain {
    /// - Parameter now: The time in seconds since 1970.
    package mutating func restRequest(_ id: RequestID, _ request: PusherTestServer.Request, now: Int) -> [ServerAction]
    {
        let response: RESTResponse
        do throws(RESTFailure) {
            response = RESTResponse(status: 200, body: try answer(request, now: now).jsonText)
        } catch {
            response = error.response
        }
        // The request is the cause of the events that it publishes, so its record precedes theirs.
        let effects = takeActions()
        record(.requestAnswered(request, status: response.status))
        let cause = takeActions()
        perform(.respond(id, response))
        return cause + effects + takeActions()
    }

    /// Returns the answer if the server refuses the request without reading its body; nil otherwise. The method also
    /// checks requests to the authorization endpoints.
    func refusal(ofHead request: PusherTestServer.Request, now: Int) -> RESTResponse? {
        do throws(RESTFailure) {
            if AuthorizationCall.isFor(request) {
                try AuthorizationCall.checkMethod(request)
            } else {
                _ = try route(of: request, now: now)
            }
            return nil
        } catch {
            return error.response
        }
    }

    private enum Route {
        case publish, publishBatch, channels
        case channel(String)
        case users(ofChannel: String)
        case terminate(user: String)
    }

    /// Returns the route of a request if its signature is valid. Reads only the head and the length of the body.
    private func route(of request: PusherTestServer.Request, now: Int) throws(RESTFailure) -> Route {
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            PercentEncoding.decode($0)
        }
        guard path.count >= 3, path[0] == "apps" else { throw .notFound("there is nothing at \(request.path)") }
        guard path[1] == options.application.id else { throw .notFound("unknown app id \(path[1])") }
        guard request.body.count <= options.maximumRequestSize else {
            throw .bodyTooLarge(limit: options.maximumRequestSize)
        }
        try RESTAuthentication.checkHead(request, application: options.application, now: now)
        switch (request.method, path[2], path.count) {
        case ("POST", "events", 3): return .publish
        case ("POST", "batch_events", 3): return .publishBatch
        case ("GET", "channels", 3): return .channels
        case ("GET", "channels", 4): return .channel(path[3])
        case ("GET", "channels", 5) where path[4] == "users": return .users(ofChannel: path[3])
        case ("POST", "users", 5) where path[4] == "terminate_connections": return .terminate(user: path[3])
        default: throw .notFound("\(request.method) \(request.path) is not supported")
        }
    }

    private mutating func answer(_ request: PusherTestServer.Request, now: Int) throws(RESTFailure) -> JSONValue {
        let route = try route(of: request, now: now)
        try RESTAuthentication.checkBody(request)
        switch route {
        case .publish: return try publish(request)
        case .publishBatch: return try publishBatch(body: request.body)
        case .channels: return try channels(request.parameters)
        case .channel(let name): return try channel(name, request.parameters)
        case .users(let channel): return try userList(of: channel)
        case .terminate(let userID):
            terminate(userID)
            return [:]
        }
    }

    // MARK: POST /apps/{id}/events

    /// An event, and the names of the channel attributes that the answer must contain, separated by commas.
    private struct Publication {
        let event: PublishedEvent
        let info: String?
    }

    private mutating func publish(_ request: PusherTestServer.Request) throws(RESTFailure) -> JSONValue {
        let value = try Self.eventParameters(of: request)
        let publication = try publication(value, channels: try Self.channelNames(value))
        relay(publication.event)
        guard let info = publication.info else { return [:] }
        let members = publication.event.channels.map { name in (name, attributes(of: name, info)) }
        return ["channels": .object(WireTable(members))]
    }

    /// Returns the members of the JSON body. If the body lacks a member, the method takes the member from the query.
    private static func eventParameters(of request: PusherTestServer.Request) throws(RESTFailure) -> JSONValue {
        var members = request.body.isEmpty ? [:] : try object(request.body).object ?? WireTable()
        let query = Form(request.query)
        for name in ["name", "data", "socket_id", "info"] where members[name] == nil {
            members[name] = query[name].map { .string($0) }
        }
        guard members["channels"] == nil, members["channel"] == nil else { return .object(members) }
        members["channel"] = query["channel"].map { .string($0) }
        let channels = query.values("channels[]") + query.values("channels")
        if !channels.isEmpty { members["channels"] = .array(channels.map { .string($0) }) }
        return .object(members)
    }

    /// Publishes a batch of events. If one event breaks a rule, the server publishes no event.
    private mutating func publishBatch(body: [UInt8]) throws(RESTFailure) -> JSONValue {
        guard let batch = try Self.object(body)["batch"]?.array else {
            throw .badRequest("\"batch\" must be an array of objects")
        }
        guard batch.count <= Self.maximumBatchCount else {
            throw .badRequest("a batch has at most \(Self.maximumBatchCount) events; this one has \(batch.count)")
        }
        var publications: [Publication] = []
        for value in batch {
            guard let channel = value["channel"]?.string else { throw .badRequest("\"channel\" must be a string") }
            publications.append(try publication(value, channels: [channel]))
        }
        for publication in publications { relay(publication.event) }
        guard publications.contains(where: { $0.info != nil }) else { return [:] }
        return [
            "batch": .array(
                publications.map { publication in
                    guard let info = publication.info, let channel = publication.event.channels.first else {
                        return [:]
                    }
                    return attributes(of: channel, info)
                }
            )
        ]
    }

    private static let maximumBatchCount = 10

    private static func object(_ body: [UInt8]) throws(RESTFailure) -> JSONValue {
        let text = String(decoding: body, as: UTF8.self)
        guard text.utf8.elementsEqual(body) else { throw .badRequest("the body is not UTF-8") }
        guard let value = JSONValue(parsing: text), value.object != nil else {
            throw .badRequest("the body is not a JSON object")
        }
        return value
    }

    private func publication(_ value: JSONValue, channels names: [String]) throws(RESTFailure) -> Publication {
        guard let name = value["name"]?.string else { throw .badRequest("\"name\" must be a string") }
        guard let data = value["data"]?.string else { throw .badRequest("\"data\" must be a string") }
        guard data.utf8.count <= options.maximumEventDataSize else {
            let limit = options.maximumEventDataSize
            throw .tooLarge("The data content of this event exceeds the allowed maximum (\(limit) bytes)")
        }
        let socketID = try Self.optionalString(value["socket_id"], "socket_id")
        let info = try Self.optionalString(value["info"], "info")
        try Self.checkInfo(info ?? "")
        let event: PublishedEvent
        do {
            event = try PublishedEvent(name: name, data: data, channels: names, socketID: socketID)
        } catch {
            throw .badRequest(error.message)
        }
        let isEncrypted = { (name: String) in ChannelKind(ofChannelNamed: name).base == .privateEncrypted }
        if names.count > 1, names.contains(where: isEncrypted) {
            throw .badRequest("an event for an encrypted channel must not name other channels")
        }
        return Publication(event: event, info: info)
    }

    private static func channelNames(_ value: JSONValue) throws(RESTFailure) -> [String] {
        if let channels = value["channels"] {
            let names = channels.array?.compactMap(\.string)
            guard let names, names.count == channels.array?.count else {
                throw .badRequest("\"channels\" must be an array of strings")
            }
            return names
        }
        guard let channel = value["channel"]?.string else {
            throw .badRequest("\"channels\" must be an array of strings, or \"channel\" a string")
        }
        return [channel]
    }

    private static func optionalString(_ value: JSONValue?, _ key: String) throws(RESTFailure) -> String? {
        switch value {
        case nil, .null: return nil
        case .string(let text): return text
        default: throw .badRequest("\"\(key)\" must be a string")
        }
    }
}
