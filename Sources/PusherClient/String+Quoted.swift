extension String {
    /// For the text of an error: in quotes, without characters that act on a terminal, and not endless.
    var quoted: String { String(reflecting: String(prefix(200))) }
}
