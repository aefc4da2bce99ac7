import PusherEncryption
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// Authorizes a connection to subscribe to a channel.
    ///
    /// Check first whether the user may subscribe: this method only signs. It makes no request.
    ///
    /// - Parameters:
    ///   - channel: The channel's name, `channel_name` in the client's request.
    ///   - socketID: The client's connection, `socket_id` in the client's request.
    ///   - member: The user. Presence channels need it.
    /// - Returns: The answer: ``Authorization/jsonText``.
    /// - Throws: ``PusherServerAPIError`` if the channel is public, if a name or an id is invalid, if a presence
    ///   channel has no member, or if an encrypted channel has no key.
    public func authorizeChannel(
        _ channel: String,
        socketID: String,
        member: Member? = nil
    ) throws(PusherServerAPIError) -> Authorization {
        try Self.check(channel: channel)
        try Self.check(socketID: socketID)
        let kind = ChannelKind(ofChannelNamed: channel)
        guard kind.requiresAuthorization else {
            throw PusherServerAPIError(
                .invalidChannelName,
                "Channel \(channel.quoted) not authorized: it is public, and clients subscribe without authorization."
            )
        }
        if kind.base == .presence, member == nil {
            throw PusherServerAPIError(
                .invalidUser,
                "Channel \(channel.quoted) not authorized: presence channels need a member. Say who the user is."
            )
        }
        if let member { try Self.check(member.channelData, has: "user_id", isNumberAllowed: true) }
        return Authorization(
            auth: signer.auth(socketID: socketID, channel: channel, channelData: member?.channelData),
            channelData: member?.channelData,
            sharedSecret: kind.base == .privateEncrypted
                ? SharedSecret.base64(channel: channel, masterKey: try requiredMasterKey(for: channel)) : nil
        )
    }

    /// Authenticates the user of a connection that wants to sign in.
    ///
    /// Check first who the user is: this method only signs. It makes no request.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - socketID: The client's connection, `socket_id` in the client's request.
    /// - Returns: The answer: ``Authorization/jsonText``.
    /// - Throws: ``PusherServerAPIError`` if an id is invalid.
    public func authenticateUser(_ user: User, socketID: String) throws(PusherServerAPIError) -> Authorization {
        try Self.check(socketID: socketID)
        try Self.check(user.userData, has: "id", isNumberAllowed: false)
        return Authorization(
            auth: signer.auth(socketID: socketID, userData: user.userData),
            userData: user.userData
        )
    }

    private static func check(
        _ text: String,
        has key: String,
        isNumberAllowed: Bool
    ) throws(PusherServerAPIError) {
        guard let object = JSONValue(parsing: text), object.object != nil else {
            throw PusherServerAPIError(
                .invalidUser,
                "Invalid user \(text.quoted): it is not the text of a JSON object."
            )
        }
        guard let id = isNumberAllowed ? object[key]?.identifier : object[key]?.string else {
            throw PusherServerAPIError(
                .invalidUser,
                "Invalid user \(text.quoted): it has no \(key), which must be a string."
            )
        }
        try check(userId: id)
    }
}
