import PusherProtocol

/// The REST API (protocol clause 13).
extension ServerBrain {
    /// - Parameter now: the time in seconds since 1970.
    package mutating func restRequest(_ id: RequestID, _ request: PusherTestServer.Request, now: Int) -> [ServerAction]
    {
        let response: RESTResponse
        do throws(RESTFailure) {
            response = RESTResponse(status: 200, body: try answer(request, now: now).jsonText)
        } catch {
            response = RESTResponse(status: error.status, body: error.message)
        }
        record(.requestAnswered(request, status: response.status))
        perform(.respond(id, response))
        return takeActions()
    }

    private mutating func answer(_ request: PusherTestServer.Request, now: Int) throws(RESTFailure) -> JSONValue {
        let path = request.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map {
            PercentEncoding.decode($0)
        }
        guard path.count >= 3, path[0] == "apps" else { throw .notFound("nothing is at \(request.path)") }
        guard path[1] == options.application.id else { throw .notFound("app id \(path[1]) is not known here") }
        guard request.body.count <= options.maximumRequestSize else {
            throw .tooLarge("the body exceeds the allowed maximum (\(options.maximumRequestSize) bytes)")
        }
        try RESTAuthentication.check(request, application: options.application, now: now)
        switch (request.method, path[2], path.count) {
        case ("POST", "events", 3): return try publish(body: request.body)
        case ("GET", "channels", 3): return try channels(request.parameters)
        case ("GET", "channels", 4): return try channel(path[3], request.parameters)
        default: throw .notFound("\(request.method) \(request.path) is not supported")
        }
    }

    // MARK: POST /apps/{id}/events

    private mutating func publish(body: [UInt8]) throws(RESTFailure) -> JSONValue {
        let text = String(decoding: body, as: UTF8.self)
        guard text.utf8.elementsEqual(body) else { throw .badRequest("the body is not UTF-8") }
        guard let value = JSONValue(parsing: text), value.object != nil else {
            throw .badRequest("the body is not a JSON object")
        }
        guard let name = value["name"]?.string else { throw .badRequest("\"name\" must be a string") }
        guard let data = value["data"]?.string else { throw .badRequest("\"data\" must be a string") }
        guard data.utf8.count <= options.maximumEventDataSize else {
            let limit = options.maximumEventDataSize
            throw .tooLarge("The data content of this event exceeds the allowed maximum (\(limit) bytes)")
        }
        let names = try channelNames(value)
        let socketID = try Self.optionalString(value["socket_id"], "socket_id")
        let info = try Self.optionalString(value["info"], "info")
        let event: PublishedEvent
        do {
            event = try PublishedEvent(name: name, data: data, channels: names, socketID: socketID)
        } catch {
            throw .badRequest(error.message)
        }
        let isEncrypted = { (name: String) in ChannelKind(ofChannelNamed: name).base == .privateEncrypted }
        if names.count > 1, names.contains(where: isEncrypted) {
            throw .badRequest("an encrypted channel must be the only one of an event")
        }
        relay(event)
        guard let info else { return [:] }
        let members = names.map { name in (name, attributes(of: name, info)) }
        return ["channels": .object(Dictionary(members) { _, last in last })]
    }

    private func channelNames(_ value: JSONValue) throws(RESTFailure) -> [String] {
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

    // MARK: GET /apps/{id}/channels

    private func channels(_ parameters: [String: String]) throws(RESTFailure) -> JSONValue {
        let prefix = parameters["filter_by_prefix"] ?? ""
        let info = parameters["info"] ?? ""
        if Self.names(info).contains("user_count"), !prefix.hasPrefix(ChannelKind.Base.presence.prefix) {
            throw .badRequest("user_count is for presence channels: filter_by_prefix must begin with presence-")
        }
        let names = subscribers.keys.filter { $0.utf8.starts(with: prefix.utf8) }
        let members = names.map { ($0, attributes(of: $0, info)) }
        return ["channels": .object(Dictionary(members) { _, last in last })]
    }

    private func channel(_ name: String, _ parameters: [String: String]) throws(RESTFailure) -> JSONValue {
        let info = parameters["info"] ?? ""
        if Self.names(info).contains("user_count"), ChannelKind(ofChannelNamed: name).base != .presence {
            throw .badRequest("user_count is for presence channels")
        }
        var members = attributes(of: name, info).object ?? [:]
        members["occupied"] = .bool(subscriptionCount(of: name) > 0)
        return .object(members)
    }

    private func attributes(of channel: String, _ info: String) -> JSONValue {
        guard Self.names(info).contains("subscription_count") else { return [:] }
        return ["subscription_count": .integer(subscriptionCount(of: channel))]
    }

    private static func names(_ info: String) -> [Substring] { info.split(separator: ",") }
}
