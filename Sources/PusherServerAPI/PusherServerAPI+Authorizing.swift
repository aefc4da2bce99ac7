import PusherEncryption
import PusherProtocol
import RealtimePrimitives

extension PusherServerAPI {
    /// Authorizes a connection to subscribe to a channel.
    ///
    /// Decide first whether the user may: this method only signs. It makes no request.
    ///
    /// - Parameters:
    ///   - channel: The channel's name, `channel_name` in the client's request.
    ///   - socketID: The client's connection, `socket_id` in the client's request.
    ///   - member: Who the user is. Presence channels need it.
    /// - Returns: What to answer: ``Authorization/jsonText``.
    /// - Throws: ``PusherServerAPIError`` if the channel is public, if a name or an id is not valid, if a presence channel has
    ///   no member, or if an encrypted channel has no key.
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
    /// Find out first who the user is: this method only signs. It makes no request.
    ///
    /// - Parameters:
    ///   - user: Who the user is.
    ///   - socketID: The client's connection, `socket_id` in the client's request.
    /// - Returns: What to answer: ``Authorization/jsonText``.
    /// - Throws: ``PusherServerAPIError`` if an id is not valid.
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
