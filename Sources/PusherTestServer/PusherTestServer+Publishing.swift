import PusherEncryption
import PusherProtocol

extension PusherTestServer {
    /// Publishes an event to the subscribers of channels, like `POST /apps/{id}/events`, but without HTTP.
    ///
    /// - Parameters:
    ///   - name: The event's name, 1 to 200 bytes.
    ///   - data: The event's data, usually JSON text. The server relays the data byte for byte. For encrypted channels,
    ///     the server encrypts the data with the channel's key. The size is not limited.
    ///   - channels: The channels' names, 1 to 100. The name of a user's own channel is `#server-to-user-`, followed by
    ///     the user's id.
    ///   - socketID: The connection that does not get the event.
    /// - Returns: The number of connections that get the event. Silent connections do not count.
    /// - Throws: ``ServerError`` with ``ServerError/Code/invalidEvent`` if a name, the number of channels or the socket
    ///   id breaks the protocol's rules, ``ServerError/Code/invalidEncryptionKey`` if an encrypted channel has no key,
    ///   or ``ServerError/Code/encryptionUnavailable`` if this build has no libsodium.
    @discardableResult
    public func publish(
        event name: String,
        data: String,
        to channels: String...,
        excluding socketID: String? = nil
    ) throws -> Int {
        let event = try PublishedEvent(name: name, data: data, channels: channels, socketID: socketID)
        let plain = channels.filter { !Self.isEncrypted($0) }
        var events: [PublishedEvent] = []
        for channel in channels where Self.isEncrypted(channel) {
            guard SecretBox.isAvailable else {
                throw ServerError(
                    .encryptionUnavailable,
                    "Event not published: this build cannot encrypt it, because it has no libsodium."
                )
            }
            guard let sealed = seal(data, for: channel) else {
                throw ServerError(
                    .invalidEncryptionKey,
                    "Invalid encryption master key: it is not the base64 of 32 bytes."
                )
            }
            let event = try PublishedEvent(name: name, data: sealed, channels: [channel], socketID: socketID)
            events.append(event)
        }
        if plain.count == channels.count {
            events = [event]
        } else if !plain.isEmpty {
            events.append(try PublishedEvent(name: name, data: data, channels: plain, socketID: socketID))
        }
        var reached: Set<ConnectionID> = []
        engine.step { brain in brain.publish(events, reaching: &reached) }
        return reached.count
    }

    /// Publishes an event to a signed-in user, on all connections that are subscribed to the user's own channel.
    ///
    /// - Parameters:
    ///   - name: The event's name, 1 to 200 bytes.
    ///   - data: The event's data, usually JSON text. The server relays the data byte for byte. The size is not
    ///     limited.
    ///   - userID: The user's id, 1 to 128 bytes.
    /// - Returns: The number of connections that get the event. The number is 0 if no connection has subscribed to the
    ///   user's own channel yet. ``waitForSignIn(of:timeout:)`` waits for this subscription.
    /// - Throws: ``ServerError`` with ``ServerError/Code/invalidEvent`` if the name or the id breaks the protocol's
    ///   rules.
    @discardableResult
    public func publish(event name: String, data: String, toUser userID: String) throws -> Int {
        try publish(event: name, data: data, to: ChannelName.serverToUserPrefix + userID)
    }

    /// Closes the connections on which a user is signed in, with code 4009.
    public func terminateConnections(ofUser userID: String) {
        engine.step { brain in brain.terminateConnections(ofUser: userID) }
    }

    /// Deletes the last event of a cache channel, as if the event had expired. If `channel` is nil, deletes the events
    /// of all cache channels.
    public func forgetCachedEvents(of channel: String? = nil) {
        engine.step { brain in brain.forgetCachedEvents(of: channel) }
    }

    // MARK: Keys

    /// Returns a backend's answer that allows a client to subscribe, even if ``Options/authorizeChannel`` would refuse.
    ///
    /// - Parameters:
    ///   - socketID: The socket id of the client's connection.
    ///   - channel: The channel's name.
    ///   - channelData: The user on a presence channel, as JSON text with a `user_id`. Default: nil.
    public func authorization(
        forSocket socketID: String,
        channel: String,
        channelData: String? = nil
    ) -> SignedAuthorization {
        options.application.authorization(
            socketID: socketID,
            channel: channel,
            channelData: channelData,
            masterKey: engine.read { $0.masterKey }
        )
    }

    /// Returns a backend's answer that allows a client to sign in, even if ``Options/authenticateUser`` would refuse.
    ///
    /// - Parameters:
    ///   - socketID: The socket id of the client's connection.
    ///   - userData: The user, as JSON text with an `id`.
    public func authentication(forSocket socketID: String, userData: String) -> SignedAuthorization {
        options.application.authentication(socketID: socketID, userData: userData)
    }

    /// Replaces ``Options/encryptionMasterKey`` with a new master key. From now on, the server encrypts events with
    /// keys derived from the new master key, and authorizations contain these keys. The server does not notify clients.
    public func rotateEncryptionKey() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<SecretKey.size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let key = SecretKey(bytes)
        engine.step { brain in brain.setMasterKey(key) }
    }

    /// Encrypts the data of an event. Returns nil if the channel is not encrypted, or if there is no key.
    func seal(_ data: String, for channel: String) -> String? {
        guard Self.isEncrypted(channel), let masterKey = engine.read({ $0.masterKey }),
            let key = SharedSecret.key(channel: channel, masterKey: masterKey)
        else { return nil }
        return EncryptedEvent.seal(data, with: key)
    }

    private static func isEncrypted(_ channel: String) -> Bool {
        ChannelKind(ofChannelNamed: channel).base == .privateEncrypted
    }
}
