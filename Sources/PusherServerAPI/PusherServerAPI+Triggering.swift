import PusherEncryption
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// Triggers an event on channels.
    ///
    /// - Parameters:
    ///   - event: The event. The library encrypts the data of the event if the channel is encrypted.
    ///   - channels: The channels' names, at least 1 and at most ``Limits/channelsPerEvent``. An encrypted channel must
    ///     be the only channel.
    /// - Returns: The states of the channels, by name. Empty if ``Event/info`` is empty, or if the server returns no
    ///   states.
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`. After an error without a status, the server may
    ///   still have triggered the event.
    @discardableResult
    public func trigger(_ event: Event, on channels: [String]) async throws -> [String: ChannelState] {
        guard (1...max(options.limits.channelsPerEvent, 1)).contains(channels.count) else {
            throw PusherServerAPIError(
                .invalidChannelCount,
                """
                Event \(event.name.quoted) not triggered: it is for \(channels.count) channels. Name 1 to \
                \(options.limits.channelsPerEvent).
                """
            )
        }
        for channel in channels { try Self.check(channel: channel) }
        if channels.count > 1, let encrypted = channels.first(where: Self.isEncrypted) {
            throw PusherServerAPIError(
                .invalidChannelCount,
                """
                Event \(event.name.quoted) not triggered: it is for the encrypted channel \(encrypted.quoted) and for \
                others. Trigger it on each channel separately.
                """
            )
        }
        let data = try checkedData(of: event, for: channels[0])
        return try await trigger(event, data: data, on: channels)
    }

    /// Triggers an event on channels, as the method with an array of names does.
    @discardableResult
    public func trigger(_ event: Event, on channels: String...) async throws -> [String: ChannelState] {
        try await trigger(event, on: channels)
    }

    /// Triggers several events with one request, at most ``Limits/eventsPerBatch``.
    ///
    /// - Returns: The states of the events' channels, in the order of the batch.
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`. If one event breaks a rule, the method triggers no
    ///   event.
    @discardableResult
    public func trigger(_ batch: [BatchEvent]) async throws -> [ChannelState] {
        guard (1...max(options.limits.eventsPerBatch, 1)).contains(batch.count) else {
            throw PusherServerAPIError(
                .invalidBatch,
                "Batch not triggered: it has \(batch.count) events. Pass 1 to \(options.limits.eventsPerBatch)."
            )
        }
        var texts: [String] = []
        for element in batch {
            try Self.check(channel: element.channel)
            let data = try checkedData(of: element.event, for: element.channel)
            texts.append(Self.body(of: element.event, data: data, channel: element.channel))
        }
        let body = #"{"batch":[\#(texts.joined(separator: ","))]}"#
        let answer = try await sender.send(.init(method: "POST", path: "/batch_events", body: body))
        let states = JSONValue(parsing: answer)?["batch"]?.array ?? []
        return batch.indices.map { ChannelState(states.indices.contains($0) ? states[$0] : nil) }
    }

    /// Sends an event to all connections of a signed-in user.
    ///
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`. If the user has no connection, the method does not
    ///   throw.
    public func send(_ event: Event, toUser userID: String) async throws {
        try Self.check(userID: userID)
        let data = try checkedData(of: event, for: "")
        try await trigger(event, data: data, on: [ChannelName.serverToUserPrefix + userID])
    }

    /// Closes all connections of a signed-in user, with close code 4009.
    ///
    /// - Throws: ``PusherServerAPIError``, or `CancellationError`. If the user has no connection, the method does not
    ///   throw.
    public func terminateConnections(ofUser userID: String) async throws {
        try Self.check(userID: userID)
        let path = "/users/\(PercentEncoding.encode(userID))/terminate_connections"
        _ = try await sender.send(.init(method: "POST", path: path, body: "{}"))
    }

    // MARK: Bodies

    @discardableResult
    private func trigger(_ event: Event, data: String, on channels: [String]) async throws -> [String: ChannelState] {
        let body = Self.body(of: event, data: data, channels: channels)
        let answer = try await sender.send(.init(method: "POST", path: "/events", body: body))
        return (JSONValue(parsing: answer)?["channels"]?.object?.dictionary ?? [:]).mapValues { ChannelState($0) }
    }

    private static func body(of event: Event, data: String, channels: [String]) -> String {
        object([
            ("name", .string(event.name)), ("channels", .array(channels.map { .string($0) })), ("data", .string(data)),
            ("socket_id", event.excludedSocketID.map { .string($0) }), ("info", event.info.text.map { .string($0) }),
        ])
    }

    private static func body(of event: Event, data: String, channel: String) -> String {
        object([
            ("channel", .string(channel)), ("name", .string(event.name)), ("data", .string(data)),
            ("socket_id", event.excludedSocketID.map { .string($0) }), ("info", event.info.text.map { .string($0) }),
        ])
    }

    /// Writes an object with its members in this order, as the official libraries do.
    private static func object(_ members: [(String, JSONValue?)]) -> String {
        let texts = members.compactMap { name, value in value.map { "\"\(name)\":\($0.jsonText)" } }
        return "{\(texts.joined(separator: ","))}"
    }

    // MARK: Checks

    /// Checks an event and returns its data, encrypted for encrypted channels.
    private func checkedData(of event: Event, for channel: String) throws(PusherServerAPIError) -> String {
        guard (1...EventName.maximumLength).contains(event.name.utf8.count) else {
            throw PusherServerAPIError(
                .invalidEventName,
                """
                Invalid event name \(event.name.quoted): it has \(event.name.utf8.count) bytes. Use 1 to \
                \(EventName.maximumLength).
                """
            )
        }
        if let socketID = event.excludedSocketID { try Self.check(socketID: socketID) }
        let isEncrypted = Self.isEncrypted(channel)
        let data = isEncrypted ? try seal(event.data, for: channel) : event.data
        guard data.utf8.count <= options.limits.eventDataSize else {
            throw PusherServerAPIError(
                .dataTooLong,
                """
                Event \(event.name.quoted) not triggered: its data has \(data.utf8.count) bytes\
                \(isEncrypted ? " after encryption" : ""). Send at most \(options.limits.eventDataSize), or raise \
                limits.eventDataSize if your server accepts more.
                """
            )
        }
        return data
    }

    private func seal(_ data: String, for channel: String) throws(PusherServerAPIError) -> String {
        let masterKey = try requiredMasterKey(for: channel)
        guard SecretBox.isAvailable else {
            throw PusherServerAPIError(
                .encryptionUnavailable,
                """
                Encryption for \(channel.quoted) failed: this build has no libsodium. Turn on the package's trait \
                SystemSodium.
                """
            )
        }
        guard let key = SharedSecret.key(channel: channel, masterKey: masterKey),
            let sealed = EncryptedEvent.seal(data, with: key)
        else {
            throw PusherServerAPIError(
                .encodingFailed,
                "Encryption for \(channel.quoted) failed: there is not enough memory."
            )
        }
        return sealed
    }

    func requiredMasterKey(for channel: String) throws(PusherServerAPIError) -> SecretKey {
        guard let masterKey else {
            throw PusherServerAPIError(
                .missingEncryptionKey,
                """
                Channel \(channel.quoted) not usable: it is encrypted, but there is no encryption key. Set the \
                application's encryptionMasterKey.
                """
            )
        }
        return masterKey
    }

    static func isEncrypted(_ channel: String) -> Bool {
        ChannelKind(ofChannelNamed: channel).base == .privateEncrypted
    }

    static func check(channel: String) throws(PusherServerAPIError) {
        do throws(ChannelName.ValidationError) {
            _ = try ChannelName(channel)
        } catch {
            throw PusherServerAPIError(.invalidChannelName, "Invalid channel name \(channel.quoted): \(error).")
        }
    }

    static func check(socketID: String) throws(PusherServerAPIError) {
        guard SocketID.isValid(socketID) else {
            throw PusherServerAPIError(
                .invalidSocketID,
                "Invalid socket id \(socketID.quoted): it does not have the form 123.456. Use the socket id that the client sends."
            )
        }
    }

    static func check(userID: String) throws(PusherServerAPIError) {
        guard UserID.isValid(userID) else {
            throw PusherServerAPIError(
                .invalidUser,
                "Invalid user id \(userID.quoted): it has \(userID.utf8.count) bytes. Use 1 to \(UserID.maximumLength)."
            )
        }
    }
}
