import PusherEncryption
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// Authorizes a connection to subscribe to a channel.
    ///
    /// Check first whether the user may subscribe, because this method only signs. The method makes no request.
    ///
    /// - Parameters:
    ///   - channel: The channel's name, which is the field `channel_name` of the client's request.
    ///   - socketID: The connection's socket id, which is the field `socket_id` of the client's request.
    ///   - member: The user. Required for presence channels. Default: nil.
    /// - Returns: The authorization. ``Authorization/jsonText`` is the answer to send to the client.
    /// - Throws: ``PusherServerAPIError`` if the channel is public, or if a name or an id is invalid. The method also
    ///   throws this error if `member` is missing for a presence channel, or if there is no key for an encrypted
    ///   channel.
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
                "Channel \(channel.quoted) not authorized: presence channels need a member. Pass the user as the member."
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
    /// Check the user's identity first, because this method only signs. The method makes no request.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - socketID: The connection's socket id, which is the field `socket_id` of the client's request.
    /// - Returns: The authorization. ``Authorization/jsonText`` is the answer to send to the client.
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
                "Invalid user \(text.quoted): it is not a JSON object."
            )
        }
        guard let id = isNumberAllowed ? object[key]?.identifier : object[key]?.string else {
            throw PusherServerAPIError(
                .invalidUser,
                """
                Invalid user \(text.quoted): it has no \(key) that is a string\
                \(isNumberAllowed ? " or a number" : "").
                """
            )
        }
        try check(userID: id)
    }
}
