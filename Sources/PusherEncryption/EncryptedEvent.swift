import Foundation
package import PusherProtocol

/// The `data` of an event on an encrypted channel: `{"nonce":"…","ciphertext":"…"}`, both in base64.
package struct EncryptedEvent {
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// Why an event cannot be read.
    package enum Failure: Error, Hashable, Sendable {
        /// It is not what an encrypted event is: another key does not help.
        case malformed(String)
        /// The key does not fit, or the event was changed on its way.
        case wrongKey
    }

    package init(_ data: Envelope.Payload) throws(Failure) {
        guard let text = data.text, let members = Self.members(of: text) else {
            throw .malformed("the data is no JSON object with a nonce and a ciphertext")
        }
        nonce = try Self.bytes(members.nonce, "nonce")
        ciphertext = try Self.bytes(members.ciphertext, "ciphertext")
        guard nonce.count == SecretBox.nonceSize else {
            throw .malformed("the nonce has \(nonce.count) bytes rather than \(SecretBox.nonceSize)")
        }
        guard ciphertext.count >= SecretBox.tagSize else {
            throw .malformed("the ciphertext has \(ciphertext.count) bytes; it must have at least \(SecretBox.tagSize)")
        }
    }

    /// The two members, as far as they are strings; nil where the text is no object. In one pass: this is done for each
    /// event.
    private static func members(of text: String) -> (nonce: String?, ciphertext: String?)? {
        let bytes = ContiguousArray(text.utf8)
        let span = bytes.span
        var scanner = JSONScanner()
        var members: (nonce: String?, ciphertext: String?) = (nil, nil)
        scanner.skipWhitespace(span)
        guard scanner.peek(span) == UInt8(ascii: "{") else { return nil }
        scanner.advance()
        do {
            var isFirst = true
            while let key = try scanner.nextKey(span, isFirst: &isFirst) {
                let name = String(unescaping: span, key)
                guard name == "nonce" || name == "ciphertext" else {
                    try scanner.skipValue(span)
                    continue
                }
                var value: String?
                if scanner.peek(span) == UInt8(ascii: "\"") {
                    value = String(unescaping: span, try scanner.scanString(span))
                } else {
                    try scanner.skipValue(span)
                }
                if name == "nonce" { members.nonce = value } else { members.ciphertext = value }
            }
            try scanner.expectEnd(span)
        } catch {
            return nil
        }
        return members
    }

    /// The text of an event that was sealed with this key.
    package func open(with key: SecretKey) throws(Failure) -> String {
        guard let bytes = SecretBox.open(ciphertext, nonce: nonce, key: key) else { throw .wrongKey }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .malformed("the decrypted data is not UTF-8")
        }
        return text
    }

    /// The `data` of an event, sealed with a fresh nonce.
    package static func seal(_ text: String, with key: SecretKey) -> String? {
        let nonce = SecretBox.makeNonce()
        guard let box = SecretBox.seal(Array(text.utf8), nonce: nonce, key: key) else { return nil }
        return #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(Data(box).base64EncodedString())"}"#
    }

    private static func bytes(_ text: String?, _ name: String) throws(Failure) -> [UInt8] {
        guard let text else { throw .malformed("the \(name) is missing, or no string") }
        guard let bytes = Data(base64Encoded: text) else { throw .malformed("the \(name) is not base64") }
        return Array(bytes)
    }
}
