import Foundation
package import PusherProtocol
import RealtimeJSON
import RealtimePrimitives

/// The `data` of an event on an encrypted channel: `{"nonce":"…","ciphertext":"…"}`, both in base64.
package enum EncryptedEvent {
    /// The reason why the client cannot read an event.
    package enum Failure: Error, Hashable, Sendable {
        /// The data is not an encrypted event, or the decrypted data is not UTF-8. Another key would not help.
        case malformed(String)
        /// The key is wrong, or the event was modified in transit.
        case wrongKey
    }

    /// The decoded parts of an event, for code that opens the box itself.
    package struct Sealed: Hashable, Sendable {
        package var nonce: [UInt8]
        /// The tag and the encrypted message.
        package var box: [UInt8]
    }

    /// Reads an event without decrypting it.
    package static func read(_ data: Envelope.Payload) throws(Failure) -> Sealed {
        guard var text = data.text else { throw .notEncrypted }
        let sealed: Result<Sealed, Failure> = text.withUTF8 { bytes in
            guard let members = try? members(of: bytes.span),
                members.nonce != nil || members.ciphertext != nil
            else { return .failure(.notEncrypted) }
            do throws(Failure) {
                let sealed = Sealed(
                    nonce: try decoded(members.nonce, "nonce", in: bytes.span),
                    box: try decoded(members.ciphertext, "ciphertext", in: bytes.span)
                )
                try check(nonceSize: sealed.nonce.count, boxSize: sealed.box.count)
                return .success(sealed)
            } catch {
                return .failure(error)
            }
        }
        return try sealed.get()
    }

    private static func decoded(
        _ text: Base64Text?,
        _ name: String,
        in bytes: Span<UInt8>
    ) throws(Failure) -> [UInt8] {
        guard let text else { throw .malformed("the \(name) is missing, or is not a string") }
        var isBase64 = true
        let decoded = [UInt8](unsafeUninitializedCapacity: capacity(text)) { memory, count in
            let decodedCount = decode(text, in: bytes, into: UnsafeMutableRawBufferPointer(memory))
            isBase64 = decodedCount != nil
            count = decodedCount ?? 0
        }
        guard isBase64 else { throw .malformed("the \(name) is not base64") }
        return decoded
    }

    private static func check(nonceSize: Int, boxSize: Int) throws(Failure) {
        guard nonceSize == SecretBox.nonceSize else {
            throw .malformed("the nonce has \(nonceSize) bytes rather than \(SecretBox.nonceSize)")
        }
        guard boxSize >= SecretBox.tagSize else {
            throw .malformed("the ciphertext has \(boxSize) bytes; it must have at least \(SecretBox.tagSize)")
        }
    }

    /// Returns the text of an opened box.
    package static func text(of message: [UInt8]) throws(Failure) -> String {
        guard message.withUnsafeBytes({ $0.isUTF8 }) else { throw .notUTF8 }
        return String(decoding: message, as: UTF8.self)
    }

    /// Decrypts an event with the key, and returns its text.
    package static func open(_ data: Envelope.Payload, with key: SecretKey) throws(Failure) -> String {
        guard var text = data.text else { throw .notEncrypted }
        let message: Result<String, Failure> = text.withUTF8 { bytes in
            guard let members = try? members(of: bytes.span) else { return .failure(.notEncrypted) }
            return open(members, in: bytes.span, with: key)
        }
        return try message.get()
    }

    private static func open(
        _ members: Members,
        in bytes: Span<UInt8>,
        with key: SecretKey
    ) -> Result<String, Failure> {
        guard members.nonce != nil || members.ciphertext != nil else { return .failure(.notEncrypted) }
        guard let nonce = members.nonce else { return .failure(.malformed("the nonce is missing, or is not a string")) }
        return withUnsafeTemporaryAllocation(byteCount: capacity(nonce), alignment: 1) { nonceMemory in
            guard let nonceCount = decode(nonce, in: bytes, into: nonceMemory) else {
                return .failure(.malformed("the nonce is not base64"))
            }
            guard let ciphertext = members.ciphertext else {
                return .failure(.malformed("the ciphertext is missing, or is not a string"))
            }
            var failure: Failure?
            // Decrypt the box in the string's memory, so that the method needs no other memory.
            let message = String(unsafeUninitializedCapacity: capacity(ciphertext)) { memory in
                let memory = UnsafeMutableRawBufferPointer(memory)
                guard let boxCount = decode(ciphertext, in: bytes, into: memory) else {
                    failure = .malformed("the ciphertext is not base64")
                    return 0
                }
                let box = UnsafeMutableRawBufferPointer(rebasing: memory[..<boxCount])
                let nonce = UnsafeRawBufferPointer(rebasing: nonceMemory[..<nonceCount])
                do throws(Failure) {
                    return try openInPlace(box, nonce: nonce, key: key)
                } catch {
                    failure = error
                    return 0
                }
            }
            if let failure { return .failure(failure) }
            return .success(message)
        }
    }

    /// Decrypts a box in place. The message replaces the beginning of the box.
    ///
    /// - Returns: The number of the message's bytes.
    private static func openInPlace(
        _ box: UnsafeMutableRawBufferPointer,
        nonce: UnsafeRawBufferPointer,
        key: SecretKey
    ) throws(Failure) -> Int {
        try check(nonceSize: nonce.count, boxSize: box.count)
        let message = UnsafeMutableRawBufferPointer(rebasing: box[..<(box.count - SecretBox.tagSize)])
        guard SecretBox.open(UnsafeRawBufferPointer(box), nonce: nonce, key: key, into: message) else {
            throw .wrongKey
        }
        guard UnsafeRawBufferPointer(message).isUTF8 else { throw .notUTF8 }
        return message.count
    }

    /// Makes the `data` of an event, encrypted with a fresh nonce. Returns nil if this build has no libsodium.
    package static func seal(_ text: String, with key: SecretKey) -> String? {
        let nonce = SecretBox.makeNonce()
        guard let box = SecretBox.seal(Array(text.utf8), nonce: nonce, key: key) else { return nil }
        return #"{"nonce":"\#(Data(nonce).base64EncodedString())","ciphertext":"\#(Data(box).base64EncodedString())"}"#
    }

    // MARK: The object

    private struct Members {
        var nonce: Base64Text?
        var ciphertext: Base64Text?
    }

    private struct Base64Text {
        /// The offsets of the text without its quotation marks.
        let range: Range<Int>
        /// The text, if it contains escapes. PHP escapes the slashes of base64.
        let unescaped: String?

        /// Returns nil if the value is not a string.
        init?(_ value: JSONNode) {
            guard value.kind == .string else { return nil }
            range = value.range.dropFirst().dropLast()
            unescaped = value.hasEscapes ? value.string ?? "" : nil
        }
    }

    /// Finds the two members, if they are strings. The search does not copy their texts.
    private static func members(of bytes: Span<UInt8>) throws -> Members {
        try bytes.withUnsafeBytes { bytes in
            try JSONNode.read(bytes) { object in
                guard object.kind == .object else { throw EnvelopeError.notAnObject }
                var members = Members()
                for (name, value) in object.members {
                    if name == "nonce" { members.nonce = Base64Text(value) }
                    if name == "ciphertext" { members.ciphertext = Base64Text(value) }
                }
                return members
            }
        }
    }

    // MARK: Base64

    private static func capacity(_ text: Base64Text) -> Int { Base64.capacity(forCharacters: text.range.count) }

    private static func decode(
        _ text: Base64Text,
        in bytes: Span<UInt8>,
        into memory: UnsafeMutableRawBufferPointer
    ) -> Int? {
        guard var unescaped = text.unescaped else { return Base64.decode(bytes.extracting(text.range), into: memory) }
        return unescaped.withUTF8 { Base64.decode($0.span, into: memory) }
    }
}

extension EncryptedEvent.Failure {
    fileprivate static var notUTF8: Self { .malformed("the decrypted data is not UTF-8") }

    fileprivate static var notEncrypted: Self {
        .malformed(
            """
            it is not encrypted, because its data is not a JSON object with a nonce and a ciphertext. Your backend \
            must encrypt all events that it publishes on this channel
            """
        )
    }
}
