import Logging
import PusherEncryption
import PusherTestServer
import TestSupport
import Testing

/// Looks for what must never be shown.
enum SecretSearch {
    /// Stands in every secret that a test makes up, so that it is known wherever it is shown.
    static let mark = "hush"

    private static let known =
        [mark, PusherTestServer.Options().application.secret, PusherTestServer.Options.testEncryptionMasterKey]
        + sharedSecrets

    /// Those of most encrypted channels that tests have, with the key that servers begin with.
    private static let sharedSecrets = ["a", "b", "cache-a", "chat", "news", "orders", "other"].compactMap { name in
        SecretKey(base64: PusherTestServer.Options.testEncryptionMasterKey).map { key in
            SharedSecret.base64(channel: "private-encrypted-\(name)", masterKey: key)
        }
    }

    /// Records what a line of the log shows.
    static func search(_ line: String) {
        if let secret = secret(in: line) { Issue.record("the log shows \(secret): \(line)") }
    }

    /// Records what a value shows in any form in which a program prints it.
    static func search(formsOf value: Any) {
        for form in PrintedForms.of(value) {
            if let secret = secret(in: form) { Issue.record("\(secret) is shown: \(form)") }
        }
    }

    /// The secret of any test that a text shows; nil if it shows none.
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
        SecretSearch.search("\(event.message) \(event.metadata ?? [:])")
    }
}
