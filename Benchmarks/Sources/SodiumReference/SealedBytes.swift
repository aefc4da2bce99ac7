import CSodiumReference

/// Events sealed by libsodium itself, with a key that all processes know.
public struct SealedBytes: Sendable {
    /// 24 bytes.
    public let nonce: [UInt8]
    /// The tag and the encrypted text.
    public let ciphertext: [UInt8]

    /// 32 bytes.
    public static let key = [UInt8]((0..<32).map { $0 * 7 + 1 })

    /// Encrypts the text with ``key``.
    public static func seal(_ text: String) -> SealedBytes {
        precondition(sodium_init() >= 0, "libsodium does not work")
        var nonce = [UInt8](repeating: 0, count: Int(crypto_secretbox_NONCEBYTES))
        randombytes_buf(&nonce, nonce.count)
        let message = Array(text.utf8)
        var box = [UInt8](repeating: 0, count: message.count + Int(crypto_secretbox_MACBYTES))
        crypto_secretbox_easy(&box, message, UInt64(message.count), nonce, key)
        return SealedBytes(nonce: nonce, ciphertext: box)
    }

    /// Decrypts into a buffer that is large enough, without any other work.
    public func open(into message: inout [UInt8]) -> Bool {
        crypto_secretbox_open_easy(&message, ciphertext, UInt64(ciphertext.count), nonce, Self.key) == 0
    }
}
