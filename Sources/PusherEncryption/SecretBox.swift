/// NaCl's secretbox: XSalsa20 and Poly1305 (protocol clause 10).
package enum SecretBox {
    package static let nonceSize = 24
    package static let tagSize = 16

    /// Whether this build can seal and open boxes.
    package static var isAvailable: Bool { Sodium.isAvailable }

    /// Returns the tag and the encrypted message; nil if the nonce does not have 24 bytes, or this build has no
    /// libsodium.
    package static func seal(_ message: [UInt8], nonce: [UInt8], key: SecretKey) -> [UInt8]? {
        guard nonce.count == nonceSize else { return nil }
        var box = [UInt8](repeating: 0, count: message.count + tagSize)
        let isSealed = key.withBytes { Sodium.seal(message, nonce: nonce, key: $0, into: &box) }
        return isSealed == true ? box : nil
    }

    /// Returns the message; nil if the box was not made with this key and nonce, was changed, or has a wrong length, or
    /// if this build has no libsodium.
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
        guard box.count >= tagSize, message.count >= box.count - tagSize, nonce.count == nonceSize,
            let nonceStart = nonce.assumingMemoryBound(to: UInt8.self).baseAddress
        else { return false }
        return key.withBytes { Sodium.open(box, nonce: nonceStart, key: $0, into: message.baseAddress) } == true
    }

    /// Makes a fresh random nonce.
    package static func makeNonce() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<nonceSize).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }
}
