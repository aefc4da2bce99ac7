import Foundation
import PusherClient
import PusherEncryption
import PusherProtocol
import Testing

extension Authorization {
    /// The signature tells the ledger for which connection and channel it was made.
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

/// Keys of encrypted channels.
struct TestKey {
    static let first = TestKey(byte: 1)
    static let second = TestKey(byte: 2)

    let byte: UInt8

    var base64: String { Data(repeating: byte, count: 32).base64EncodedString() }

    /// An event that only this key decrypts.
    func message(_ text: String, on channel: String, event: String = "message") throws -> Envelope {
        let key = try #require(SecretKey(base64: base64))
        return Envelope(
            event: event,
            channel: channel,
            data: .string(try #require(EncryptedEvent.seal(text, with: key)))
        )
    }
}
