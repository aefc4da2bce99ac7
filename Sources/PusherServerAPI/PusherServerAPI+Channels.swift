import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// Returns the channels that have a subscriber, by name.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of the names. Default: any beginning.
    ///   - info: The attributes to return for each channel. ``ChannelInfo/userCount`` needs a prefix that begins with
    ///     `presence-`.
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`.
    public func channels(withPrefix prefix: String? = nil, info: ChannelInfo = []) async throws -> [String:
        ChannelState]
    {
        var parameters: [String: String] = [:]
        parameters["filter_by_prefix"] = prefix
        parameters["info"] = info.text
        let answer = try await object(.init(method: "GET", path: "/channels", parameters: parameters))
        return (answer["channels"]?.object?.dictionary ?? [:]).mapValues { ChannelState($0) }
    }

    /// Returns the state of a channel, even if the channel has no subscriber.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - info: The attributes to return. ``ChannelInfo/userCount`` is for presence channels.
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`.
    public func channel(_ name: String, info: ChannelInfo = []) async throws -> ChannelState {
        try Self.check(channel: name)
        var parameters: [String: String] = [:]
        parameters["info"] = info.text
        return ChannelState(try await object(.init(method: "GET", path: "/channels/\(name)", parameters: parameters)))
    }

    /// Returns the ids of the users on a presence channel.
    ///
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`. If the channel is not a presence channel, the error
    ///   has the code ``PusherServerAPIError/Code/invalidChannelName``.
    public func users(on channel: String) async throws -> [String] {
        try Self.check(channel: channel)
        guard ChannelKind(ofChannelNamed: channel).base == .presence else {
            throw PusherServerAPIError(
                .invalidChannelName,
                "Channel \(channel.quoted) has no list of users: its name does not begin with presence-."
            )
        }
        let answer = try await object(.init(method: "GET", path: "/channels/\(channel)/users"))
        guard let users = answer["users"]?.array else {
            throw PusherServerAPIError.unexpected("it has no users", from: sender.base)
        }
        return users.compactMap { $0["id"]?.identifier }
    }

    private func object(_ request: RequestSender.Request) async throws -> JSONValue {
        guard let value = JSONValue(parsing: try await sender.send(request)), value.object != nil else {
            throw PusherServerAPIError.unexpected("it is not a JSON object", from: sender.base)
        }
        return value
    }
}
