/// The subject of an authorization, and its connection.
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

/// An authorizer's answer before it is checked.
package struct Authorization: Hashable, Sendable {
    package var auth: String
    /// `channel_data` of a channel, `user_data` of the user.
    package var data: String?
    package var sharedSecret: String?

    package init(auth: String, data: String? = nil, sharedSecret: String? = nil) {
        self.auth = auth
        self.data = data
        self.sharedSecret = sharedSecret
    }

    /// Why it is invalid.
    enum Problem: Error {
        case noAuth, malformedAuth, longAuth, longData
        case noUserData, userDataIsNoObject, userDataHasNoID
        case noChannelData, channelDataIsNoObject, channelDataHasNoUserID
        case noSharedSecret, malformedSharedSecret
    }
}

extension Authorization: CustomStringConvertible, CustomReflectable {
    /// Leaves the content out.
    package var description: String { "Authorization(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
