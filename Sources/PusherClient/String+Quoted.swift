extension String {
    /// For the text of an error: in quotes, without characters that act on a terminal, and not endless.
    var quoted: String { String(reflecting: prefix(fittingUTF8Bytes: 200)) }

    /// As much from the start as fits into that many bytes. A bound on characters is none: one can have any length.
    func prefix(fittingUTF8Bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(limit, 0))
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
