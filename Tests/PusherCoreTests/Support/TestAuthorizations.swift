import Foundation
import PusherEncryption
import PusherProtocol
import Testing

@testable import PusherCore

extension Authorization {
    /// Returns an authorization whose signature contains the connection and channel, which the ledger checks.
    static func good(_ question: AuthorizationQuestion, key: TestKey = .first) -> Authorization {
        switch question.subject {
        case .user:
            Authorization(auth: "key:\(question.socketID)", data: #"{"id":"u"}"#)
        case .channel(let name):
            Authorization(
                auth: "key:\(question.socketID)/\(name)",
                data: name.hasPrefix("presence-") ? #"{"user_id":"1"}"# : nil,
                sharedSecret: name.hasPrefix("private-encrypted-") ? key.base64 : nil
            )
        }
    }
}

/// A key of encrypted channels.
struct TestKey {
    static let first = TestKey(byte: 1)
    static let second = TestKey(byte: 2)

    let byte: UInt8

    var base64: String { Data(repeating: byte, count: 32).base64EncodedString() }

    /// Returns an event that only this key can decrypt.
    func message(_ text: String, on channel: String, event: String = "message") throws -> Envelope {
        let key = try #require(SecretKey(base64: base64))
        return Envelope(
            event: event,
            channel: channel,
            data: .string(try #require(EncryptedEvent.seal(text, with: key)))
        )
    }
}
