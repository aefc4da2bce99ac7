import RealtimePrimitives

/// The signatures of the protocol: HMAC-SHA256 with a secret of any length (RFC 2104).
package enum HMACSHA256 {
    /// Returns the authentication code in lower-case hexadecimal digits.
    package static func hexadecimal(_ text: String, secret: String) -> String {
        hexadecimal(Array(text.utf8), secret: secret)
    }

    package static func hexadecimal(_ bytes: [UInt8], secret: String) -> String {
        Hexadecimal.digits(of: authenticationCode(bytes, secret: secret))
    }

    /// Compares signatures in constant time, so that the response time reveals nothing about the right signature.
    package static func isValid(_ signature: String, for text: String, secret: String) -> Bool {
        isValid(signature, for: Array(text.utf8), secret: secret)
    }

    package static func isValid(_ signature: String, for bytes: [UInt8], secret: String) -> Bool {
        ConstantTime.areEqual(Array(hexadecimal(bytes, secret: secret).utf8), Array(signature.utf8))
    }

    private static let blockSize = 64

    private static func authenticationCode(_ bytes: [UInt8], secret: String) -> [UInt8] {
        var key = Array(secret.utf8)
        defer { key.wipe() }
        if key.count > blockSize {
            let digest = SHA256.digest(of: key)
            key.wipe()
            key = digest
        }
        var pad = [UInt8](repeating: 0x36, count: blockSize)
        defer { pad.wipe() }
        for (index, byte) in key.enumerated() { pad[index] ^= byte }
        let inner = digest(of: pad, bytes)
        for index in pad.indices { pad[index] ^= 0x36 ^ 0x5C }
        return digest(of: pad, inner)
    }

    private static func digest(of first: [UInt8], _ second: [UInt8]) -> [UInt8] {
        first.withUnsafeBytes { first in second.withUnsafeBytes { SHA256.digest(of: [first, $0]) } }
    }
}

/// Comparisons whose time depends only on the number of the bytes.
enum ConstantTime {
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { areEqual(left, $0) } }
    }

    static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in 0..<left.count { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
