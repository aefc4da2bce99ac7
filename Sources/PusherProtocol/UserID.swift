/// The id of a user, on presence channels and for sign-in.
package enum UserID {
    /// The maximum size of an id, in bytes.
    package static let maximumLength = 128

    package static func isValid(_ text: String) -> Bool { (1...maximumLength).contains(text.utf8.count) }
}
