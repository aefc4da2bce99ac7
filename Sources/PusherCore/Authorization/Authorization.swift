/// The subject and the socket id of an authorization.
package struct AuthorizationQuestion: Hashable, Sendable {
    package enum Subject: Hashable, Sendable {
        case channel(String)
        case user
    }

    package var subject: Subject
    package var socketID: String

    package init(_ subject: Subject, socketID: String) {
        self.subject = subject
        self.socketID = socketID
    }
}

/// An authorizer's answer before the client has checked it.
package struct Authorization: Hashable, Sendable {
    package var auth: String
    /// The `channel_data` of a channel, or the `user_data` of the user.
    package var data: String?
    package var sharedSecret: String?

    package init(auth: String, data: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.data = data
        self.sharedSecret = sharedSecret
    }

    /// The reason why an authorization is invalid.
    package enum Problem: Error {
        case noAuth, malformedAuth, spacedAuth, longAuth, longData
        case noUserData, userDataIsNoObject, userDataHasNoID
        case noChannelData, channelDataIsNoObject, channelDataHasNoUserID
        case noSharedSecret, malformedSharedSecret
    }
}

extension Authorization: CustomStringConvertible, CustomReflectable {
    /// A fixed description, because an authorization contains secrets.
    package var description: String { "Authorization(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
