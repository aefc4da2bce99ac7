import PusherEncryption
import PusherProtocol

extension PusherTestServer {
    /// Publishes an event to the subscribers of channels, as `POST /apps/{id}/events` does, without HTTP.
    ///
    /// - Parameters:
    ///   - name: the event's name, 1 to 200 bytes.
    ///   - data: usually JSON text. Passed on byte for byte. For encrypted channels, it is encrypted with the channel's
    ///     key. Its size is not limited.
    ///   - channels: the channels' names. `#server-to-user-` and an id is the channel of a signed-in user.
    ///   - socketID: the connection that does not get the event.
    /// - Returns: how many connections the event goes to. Silent connections do not count.
    /// - Throws: ``ServerError`` with ``ServerError/Code/invalidEvent`` if a name breaks the protocol's rules, or
    ///   ``ServerError/Code/invalidEncryptionKey`` if an encrypted channel has no key.
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
    ///   - name: the event's name, 1 to 200 bytes.
    ///   - data: relayed byte for byte; commonly JSON text. Its size is not limited.
    ///   - userId: the user's id, 1 to 128 bytes.
    /// - Returns: how many connections the event goes to: 0 if the user's own channel is not subscribed yet, for which
    ///   ``waitForSignIn(of:timeout:)`` waits.
    /// - Throws: ``ServerError`` with ``ServerError/Code/invalidEvent`` if the name or the id breaks the protocol's
    ///   rules.
    @discardableResult
    public func publish(event name: String, data: String, toUser userId: String) throws -> Int {
        try publish(event: name, data: data, to: ChannelName.serverToUserPrefix + userId)
    }

    /// Ends the connections that a user has signed in on, with code 4009.
    public func terminateConnections(ofUser userId: String) {
        engine.step { brain in brain.terminateConnections(ofUser: userId) }
    }

    /// Deletes the last event of a cache channel, or of all if `channel` is nil, as if it had expired.
    public func forgetCachedEvents(of channel: String? = nil) {
        engine.step { brain in brain.forgetCachedEvents(of: channel) }
    }

    // MARK: Keys

    /// A backend's answer to a client that wants to subscribe, even if ``Options/authorizeChannel`` would
    /// refuse.
    ///
    /// - Parameters:
    ///   - socketID: the client's connection.
    ///   - channel: the channel's name.
    ///   - channelData: the user on a presence channel, as JSON text with a `user_id`. Default: nil.
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

    /// A backend's answer to a client that wants to sign in, even if ``Options/authenticateUser`` would refuse.
    ///
    /// - Parameters:
    ///   - socketID: the client's connection.
    ///   - userData: the user, as JSON text with an `id`.
    public func authentication(forSocket socketID: String, userData: String) -> SignedAuthorization {
        options.application.authentication(socketID: socketID, userData: userData)
    }

    /// Replaces ``Options/encryptionMasterKey`` by a new master key. From now on, the server encrypts events on
    /// encrypted channels with its keys, and authorizations contain them. Clients are not notified.
    public func rotateEncryptionKey() {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<SecretKey.size).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let key = SecretKey(bytes)
        engine.step { brain in brain.setMasterKey(key) }
    }

    /// Nil if the channel is not encrypted, or there is no key.
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
