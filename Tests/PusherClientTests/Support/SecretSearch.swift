import Logging
import PusherEncryption
import PusherTestServer
import TestSupport
import Testing

/// Searches for text that must never be shown.
enum SecretSearch {
    /// A part of every made-up secret, so that tests recognize it wherever it is shown.
    static let mark = "hush"

    private static let known =
        [mark, PusherTestServer.Options().application.secret, PusherTestServer.Options.testEncryptionMasterKey]
        + sharedSecrets

    /// The secrets of most encrypted channels in tests, for the key that servers begin with.
    private static let sharedSecrets = ["a", "b", "cache-a", "chat", "news", "orders", "other"].compactMap { name in
        SecretKey(base64: PusherTestServer.Options.testEncryptionMasterKey).map { key in
            SharedSecret.base64(channel: "private-encrypted-\(name)", masterKey: key)
        }
    }

    /// Records the secrets in a line of the log.
    static func search(_ line: String) {
        if let secret = secret(in: line) { Issue.record("the log shows \(secret): \(line)") }
    }

    /// Records the secrets in a value, in every form in which a program prints it.
    static func search(formsOf value: Any) {
        for form in PrintedForms.of(value) {
            if let secret = secret(in: form) { Issue.record("\(secret) is shown: \(form)") }
        }
    }

    /// The first secret of any test in a text; nil if there is none.
    static func secret(in text: String) -> String? {
        known.first { text.contains($0) } ?? (hasSignature(text) ? "a signature" : nil)
    }

    /// Only signatures have 64 hexadecimal digits in a row with many different ones.
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
        SecretSearch.search("\(event.message) \(event.metadata ?? [:])")
    }
}
