/// What signs a user in: the members of a user authentication endpoint's answer (protocol clauses 8 and 9).
///
/// It is tied to the socket id that it was made for. Printing it shows nothing of it.
public struct UserAuth: Hashable, Sendable {
    /// `key:signature`.
    public var auth: String
    /// Who the user is, as the JSON text that was signed; it is sent on byte for byte. It is an object whose `id` is a
    /// string that is not empty.
    public var userData: String

    /// Makes an answer.
    public init(auth: String, userData: String) {
        self.auth = auth
        self.userData = userData
    }
}

extension UserAuth: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Nothing of its content.
    public var description: String { "UserAuth(auth, userData)" }
    /// Nothing of its content.
    public var debugDescription: String { description }
    /// Nothing: what `dump` shows beside the description.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
