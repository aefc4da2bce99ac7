extension String {
    /// The text in quotes, for an error. The result has a limited length, and contains no characters that affect a
    /// terminal.
    package var quoted: String { String(reflecting: prefix(fittingUTF8Bytes: 200)) }

    /// The text for a line of a log or an error. Escapes, for example `\u{1B}`, replace characters that end a line,
    /// affect a terminal, or change the direction of text. The escapes are necessary because servers choose the text.
    package var escapingControls: String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isControl {
                text += scalar.escaped(asASCII: true)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns the longest prefix of at most `limit` bytes. The limit is in bytes because a character can have any
    /// length.
    package func prefix(fittingUTF8Bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: max(limit, 0))
        while end.samePosition(in: unicodeScalars) == nil { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool {
        guard value >= 0x7F else { return value < 0x20 }
        // The C1 controls, U+2028, U+2029, and the characters that embed, override or isolate text directions.
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: return true
        default: return properties.isBidiControl
        }
    }
}
