import Foundation
import Logging
import PusherEncryption
import PusherTestServer
import TestSupport
import Testing

/// A search for secrets in text that the client shows.
enum SecretSearch {
    /// A string that every invented secret contains, so tests can recognize these secrets.
    static let mark = "hush"

    private static let known =
        [mark, PusherTestServer.Options().application.secret, PusherTestServer.Options.testEncryptionMasterKey]
        + sharedSecrets

    /// The shared secrets of most encrypted channels in tests, made with the server's first master key.
    private static let sharedSecrets = ["a", "b", "cache-a", "chat", "news", "orders", "other"].compactMap { name in
        SecretKey(base64: PusherTestServer.Options.testEncryptionMasterKey).map { key in
            SharedSecret.base64(channel: "private-encrypted-\(name)", masterKey: key)
        }
    }

    /// Records an issue if a line of the log contains a secret.
    static func search(_ line: String) {
        if let secret = secret(in: line) { Issue.record("the log shows \(secret): \(line)") }
    }

    /// Records an issue for each printed form of a value that contains a secret.
    static func search(formsOf value: Any) {
        for form in PrintedForms.of(value) {
            if let secret = secret(in: form) { Issue.record("\(secret) is shown: \(form)") }
        }
    }

    /// Returns the first invented secret in a string, or nil if the string has none.
    static func secret(in text: String) -> String? {
        known.first { contains(text, $0) } ?? (hasSignature(text) ? "a signature" : nil)
    }

    /// Returns whether the text contains the secret, byte for byte.
    private static func contains(_ text: String, _ secret: String) -> Bool {
        text.withCString { start in
            // `contains` compares characters, which is slow, and the tests search each line of each client's log.
            // `strstr` searches up to the next zero byte, which can also be in the middle of the text.
            var rest = start
            while rest <= start + text.utf8.count {
                if strstr(rest, secret) != nil { return true }
                rest += strlen(rest) + 1
            }
            return false
        }
    }

    /// Returns whether a string contains a signature: 64 hexadecimal digits in a row, with many different digits.
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
    /// A logger that writes nothing, but searches every line at every level for secrets.
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
