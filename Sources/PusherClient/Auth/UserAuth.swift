/// The authentication of a user: the members of an endpoint's answer (protocol clauses 8 and 9).
///
/// It is valid for one socket id only. Printing it shows none of its content.
public struct UserAuth: Hashable, Sendable {
    /// `key:signature`.
    public var auth: String
    /// The user, as the JSON text that was signed. It is sent byte for byte. It is an object whose `id` is a non-empty
    /// string.
    public var userData: String

    /// Makes an answer.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}

extension UserAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Leaves the content out.
    public var description: String { "UserAuth(auth, userData)" }
    /// Leaves the content out.
    public var debugDescription: String { description }
    /// An empty mirror, so that `dump` shows only the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
