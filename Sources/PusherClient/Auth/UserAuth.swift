/// The authentication of a user: the members of an endpoint's answer (protocol clauses 8 and 9).
///
/// An authentication is valid for one socket id only. Printing an authentication shows only the names of the members.
public struct UserAuth: Hashable, Sendable {
    /// `key:signature`.
    public var auth: String
    /// The user, as the JSON text that was signed. The client sends this text unchanged. The text must be an object
    /// whose `id` is a non-empty string.
    public var userData: String

    /// Creates an authentication.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}

extension UserAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The names of the members, without their content.
    public var description: String { "UserAuth(auth, userData)" }
    /// The names of the members, without their content.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
