import CSodium

/// The signatures of the protocol: HMAC-SHA256 with a secret of any length.
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
        let expected = Array(hexadecimal(bytes, secret: secret).utf8)
        let given = Array(signature.utf8)
        return expected.count == given.count && sodium_memcmp(expected, given, given.count) == 0
    }

    private static func authenticationCode(_ bytes: [UInt8], secret: String) -> [UInt8] {
        _ = Sodium.isReady
        // The one-step function accepts only secrets of 32 bytes.
        var state = crypto_auth_hmacsha256_state()
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        var secret = Array(secret.utf8)
        crypto_auth_hmacsha256_init(&state, secret, secret.count)
        crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        crypto_auth_hmacsha256_final(&state, &code)
        secret.wipe()
        sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
        return code
    }
}
