/// The id of a user, on presence channels and for sign-in.
package enum UserID {
    /// The longest id that servers accept, in bytes.
    package static let maximumLength = 128

    package static func isValid(_ text: String) -> Bool { (1...maximumLength).contains(text.utf8.count) }
}
