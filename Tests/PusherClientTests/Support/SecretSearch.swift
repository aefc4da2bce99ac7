import Logging
import PusherTestServer
import Testing

/// Looks for what must never be shown.
enum SecretSearch {
    /// Stands in every secret that a test makes up, so that it is known wherever it is shown.
    static let mark = "hush"

    private static let known = [
        mark, PusherTestServer.Options().application.secret, PusherTestServer.Options.testEncryptionMasterKey,
    ]

    /// What a text shows that is secret in any test; nil where there is nothing of the kind.
    static func secret(in text: String) -> String? {
        known.first { text.contains($0) } ?? (hasSignature(text) ? "a signature" : nil)
    }

    /// Nothing but signatures has 64 hexadecimal digits in a row, and not always the same few.
    private static func hasSignature(_ text: String) -> Bool {
        var count = 0
        var digits: UInt64 = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                count += 1
                digits |= 1 << UInt64(byte & 0x3F)
            default:
                count = 0
                digits = 0
            }
            if count >= 64, digits.nonzeroBitCount > 8 { return true }
        }
        return false
    }
}

extension Logger {
    /// Writes nothing. Every line, at every level, is searched for secrets.
    static var quiet: Logger { Logger(label: "quiet") { _ in SearchingHandler() } }
}

private struct SearchingHandler: LogHandler {
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let line = "\(event.message) \(event.metadata ?? [:])"
        if let secret = SecretSearch.secret(in: line) { Issue.record("the log shows \(secret): \(line)") }
    }
}
