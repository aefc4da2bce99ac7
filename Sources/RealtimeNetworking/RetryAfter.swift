package import Foundation

/// The header field `Retry-After`.
package enum RetryAfter {
    /// Parses seconds or a date. Returns zero for any other text.
    ///
    /// - Parameter maximum: The longest result, in seconds.
    package static func delay(_ text: String?, now: Date, maximum: Int) -> Duration {
        guard let text = text?.trimmingCharacters(in: .whitespaces) else { return .zero }
        if let seconds = Int(text) { return .seconds(min(max(0, seconds), maximum)) }
        guard let date = HTTPDate.secondsSince1970(text) else { return .zero }
        let wait = Date(timeIntervalSince1970: Double(date)).timeIntervalSince(now).rounded(.up)
        return .seconds(min(max(0, wait), Double(maximum)))
    }
}
