import PusherProtocol

/// `GET /apps/{id}/channels` and the paths below it (protocol clause 13).
extension ServerBrain {
    func channels(_ parameters: [String: String]) throws(RESTFailure) -> JSONValue {
        let prefix = parameters["filter_by_prefix"] ?? ""
        let info = parameters["info"] ?? ""
        try Self.checkInfo(info)
        if Self.names(info).contains("user_count"), !prefix.hasPrefix(ChannelKind.Base.presence.prefix) {
            throw .badRequest("user_count is for presence channels: filter_by_prefix must begin with presence-")
        }
        let names = subscribers.keys.filter { $0.utf8.starts(with: prefix.utf8) && !$0.utf8.starts(with: "#".utf8) }
        let members = names.map { ($0, attributes(of: $0, info)) }
        return ["channels": .object(WireTable(members))]
    }

    func channel(_ name: String, _ parameters: [String: String]) throws(RESTFailure) -> JSONValue {
        guard (try? ChannelName(name)) != nil else { throw .badRequest("invalid channel name") }
        let info = parameters["info"] ?? ""
        try Self.checkInfo(info, allowsCache: true)
        let kind = ChannelKind(ofChannelNamed: name)
        if Self.names(info).contains("user_count"), kind.base != .presence {
            throw .badRequest("user_count is for presence channels")
        }
        if Self.names(info).contains("cache"), !kind.isCache { throw .badRequest("cache is for cache channels") }
        var members = attributes(of: name, info).object ?? WireTable()
        members["occupied"] = .bool(subscriptionCount(of: name) > 0)
        if Self.names(info).contains("cache") { members["cache"] = cache(of: name) }
        return .object(members)
    }

    private func cache(of channel: String) -> JSONValue {
        guard let event = cachedEvent(of: channel) else { return .null }
        return ["data": .string(event.data), "ttl": .integer(Int((event.expiry - now).components.seconds))]
    }

    func userList(of channel: String) throws(RESTFailure) -> JSONValue {
        guard ChannelKind(ofChannelNamed: channel).base == .presence else {
            throw .badRequest("only presence channels have users")
        }
        return ["users": .array((members[channel] ?? []).map { ["id": .string($0.userID)] })]
    }

    func attributes(of channel: String, _ info: String) -> JSONValue {
        var members = WireTable<JSONValue>()
        let names = Self.names(info)
        if names.contains("subscription_count") {
            members["subscription_count"] = .integer(subscriptionCount(of: channel))
        }
        if names.contains("user_count"), ChannelKind(ofChannelNamed: channel).base == .presence {
            members["user_count"] = .integer(self.members[channel]?.count ?? 0)
        }
        return .object(members)
    }

    /// Checks the names of the attributes that an answer must contain.
    static func checkInfo(_ info: String, allowsCache: Bool = false) throws(RESTFailure) {
        let known: Set<Substring> = allowsCache ? attributeNames.union(["cache"]) : attributeNames
        guard names(info).allSatisfy({ known.contains($0) }) else {
            throw .badRequest("info should be a comma separated list of attributes")
        }
    }

    private static let attributeNames: Set<Substring> = ["user_count", "subscription_count"]

    private static func names(_ info: String) -> [Substring] { info.split(separator: ",") }
}
