import Foundation
package import PusherProtocol

/// The `data` of an event on an encrypted channel: `{"nonce":"…","ciphertext":"…"}`, both in base64.
package enum EncryptedEvent {
    /// Why an event cannot be read.
    package enum Failure: Error, Hashable, Sendable {
        /// It is not what an encrypted event is: another key does not help.
        case malformed(String)
        /// The key does not fit, or the event was changed on its way.
        case wrongKey
    }

    /// The text of an event that was sealed with this key.
    package static func open(_ data: Envelope.Payload, with key: SecretKey) throws(Failure) -> String {
        guard let text = data.text, let members = members(of: text) else {
            throw .malformed("the data is no JSON object with a nonce and a ciphertext")
        }
        let nonce = try bytes(members.nonce, "nonce")
        let box = try bytes(members.ciphertext, "ciphertext")
        guard nonce.count == SecretBox.nonceSize else {
            throw .malformed("the nonce has \(nonce.count) bytes rather than \(SecretBox.nonceSize)")
        }
        guard box.count >= SecretBox.tagSize else {
            throw .malformed("the ciphertext has \(box.count) bytes; it must have at least \(SecretBox.tagSize)")
        }
        let size = box.count - SecretBox.tagSize
        var failure: Failure?
        // Into the memory of the string: nothing is copied after it was decrypted.
        let message = String(unsafeUninitializedCapacity: size) { memory in
            let message = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(memory)[..<size])
            let isOpen = box.withUnsafeBytes { box in
                nonce.withUnsafeBytes { SecretBox.open(box, nonce: $0, key: key, into: message) }
            }
            if !isOpen {
                failure = .wrongKey
            } else if !UnsafeRawBufferPointer(message).isUTF8 {
                failure = .malformed("the decrypted data is not UTF-8")
            }
            return failure == nil ? size : 0
        }
        if let failure { throw failure }
        return message
    }

    /// The `data` of an event, sealed with a fresh nonce.
    package static func seal(_ text: String, with key: SecretKey) -> String? {
        let nonce = SecretBox.makeNonce()
        guard let box = SecretBox.seal(Array(text.utf8), nonce: nonce, key: key) else { return nil }
        return #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(Data(box).base64EncodedString())"}"#
    }

    // MARK: The object

    private struct Members {
        var nonce: String?
        var ciphertext: String?
    }

    /// The two members, as far as they are strings; nil where the text is no object. In one pass, and without a copy of
    /// the whole text: this is done for each event.
    private static func members(of text: String) -> Members? {
        var text = text
        return text.withUTF8 { try? members(of: $0.span) }
    }

    private static func members(of bytes: Span<UInt8>) throws(EnvelopeError) -> Members? {
        var scanner = JSONScanner()
        scanner.skipWhitespace(bytes)
        guard scanner.peek(bytes) == UInt8(ascii: "{") else { return nil }
        scanner.advance()
        var members = Members()
        var isFirst = true
        while let key = try scanner.nextKey(bytes, isFirst: &isFirst) {
            if key.stands(for: "nonce", in: bytes) {
                members.nonce = try scanner.readStringValue(bytes)
            } else if key.stands(for: "ciphertext", in: bytes) {
                members.ciphertext = try scanner.readStringValue(bytes)
            } else {
                try scanner.skipValue(bytes)
            }
        }
        try scanner.expectEnd(bytes)
        return members
    }

    private static func bytes(_ text: String?, _ name: String) throws(Failure) -> Data {
        guard let text else { throw .malformed("the \(name) is missing, or no string") }
        guard let bytes = Data(base64Encoded: text) else { throw .malformed("the \(name) is not base64") }
        return bytes
    }
}
