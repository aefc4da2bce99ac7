import CSodium

/// NaCl's secretbox: XSalsa20 and Poly1305 (protocol clause 10).
package enum SecretBox {
    package static let nonceSize = Int(crypto_secretbox_NONCEBYTES)
    package static let tagSize = Int(crypto_secretbox_MACBYTES)

    /// Tag and encrypted message; nil where the nonce has not 24 bytes.
    package static func seal(_ message: [UInt8], nonce: [UInt8], key: SecretKey) -> [UInt8]? {
        guard nonce.count == nonceSize else { return nil }
        var box = [UInt8](repeating: 0, count: message.count + tagSize)
        let isSealed = key.withBytes { key in
            crypto_secretbox_easy(&box, message, UInt64(message.count), nonce, key) == 0
        }
        return isSealed == true ? box : nil
    }

    /// The message; nil where the box was not made with this key and nonce, was changed, or has a wrong length.
    package static func open(_ box: [UInt8], nonce: [UInt8], key: SecretKey) -> [UInt8]? {
        guard nonce.count == nonceSize, box.count >= tagSize else { return nil }
        var message = [UInt8](repeating: 0, count: box.count - tagSize)
        let isOpen = key.withBytes { key in
            crypto_secretbox_open_easy(&message, box, UInt64(box.count), nonce, key) == 0
        }
        return isOpen == true ? message : nil
    }

    /// A nonce that was never used before.
    package static func makeNonce() -> [UInt8] {
        guard Sodium.isReady else { return [] }
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        randombytes_buf(&nonce, nonce.count)
        return nonce
    }
}
