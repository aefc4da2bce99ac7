extension Duration {
    /// The duration as messages show it: `10 s`, `1.5 s`, `250 ms`.
    package var inWords: String {
        let milliseconds = self / .milliseconds(1)
        let isShort = abs(milliseconds) < 1_000
        let value = ((isShort ? milliseconds : milliseconds / 1_000) * 1_000).rounded() / 1_000
        let text = Int64(exactly: value).map { "\($0)" } ?? "\(value)"
        return "\(text) \(isShort ? "ms" : "s")"
    }
}
