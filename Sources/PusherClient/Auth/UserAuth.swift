/// The authentication of a user: the members of an endpoint's answer (protocol clauses 8 and 9).
///
/// It is tied to the socket id that it was made for. Printing it shows nothing of it.
public struct UserAuth: Hashable, Sendable {
    /// `key:signature`.
    public var auth: String
    /// The user, as the JSON text that was signed. It is sent byte for byte. It is an object whose `id` is a
    /// string that is not empty.
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
    /// Nothing: what `dump` shows beside the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
