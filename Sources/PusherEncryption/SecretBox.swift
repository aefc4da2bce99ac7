import CSodium

/// NaCl's secretbox: XSalsa20 and Poly1305 (protocol clause 10).
package enum SecretBox {
    package static let nonceSize = Int(crypto_secretbox_NONCEBYTES)
    package static let tagSize = Int(crypto_secretbox_MACBYTES)

    /// Returns the tag and the encrypted message; nil if the nonce does not have 24 bytes.
    package static func seal(_ message: [UInt8], nonce: [UInt8], key: SecretKey) -> [UInt8]? {
        guard nonce.count == nonceSize else { return nil }
        var box = [UInt8](repeating: 0, count: message.count + tagSize)
        let isSealed = key.withBytes { key in
            crypto_secretbox_easy(&box, message, UInt64(message.count), nonce, key) == 0
        }
        return isSealed == true ? box : nil
    }

    /// Returns the message; nil if the box was not made with this key and nonce, was changed, or has a wrong length.
    package static func open(_ box: [UInt8], nonce: [UInt8], key: SecretKey) -> [UInt8]? {
        guard box.count >= tagSize else { return nil }
        var message = [UInt8](repeating: 0, count: box.count - tagSize)
        let isOpen = message.withUnsafeMutableBytes { message in
            box.withUnsafeBytes { box in nonce.withUnsafeBytes { open(box, nonce: $0, key: key, into: message) } }
        }
        return isOpen ? message : nil
    }

    /// Decrypts a box into memory that is large enough for the message. The memory may overlap the box.
    static func open(
        _ box: UnsafeRawBufferPointer,
        nonce: UnsafeRawBufferPointer,
        key: SecretKey,
        into message: UnsafeMutableRawBufferPointer
    ) -> Bool {
        guard let start = box.assumingMemoryBound(to: UInt8.self).baseAddress, box.count >= tagSize,
            let nonceStart = nonce.assumingMemoryBound(to: UInt8.self).baseAddress, nonce.count == nonceSize,
            message.count >= box.count - tagSize
        else { return false }
        let target = message.assumingMemoryBound(to: UInt8.self).baseAddress
        let isOpen = key.withBytes { key in
            crypto_secretbox_open_easy(target, start, UInt64(box.count), nonceStart, key) == 0
        }
        return isOpen == true
    }

    /// Makes a fresh random nonce.
    package static func makeNonce() -> [UInt8] {
        guard Sodium.isReady else { return [] }
        var nonce = [UInt8](repeating: 0, count: nonceSize)
        randombytes_buf(&nonce, nonce.count)
        return nonce
    }
}
