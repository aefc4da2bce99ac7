import CSodium

/// The digest that pins of public keys are.
package enum SHA256 {
    package static func digest(of bytes: [UInt8]) -> [UInt8] {
        _ = Sodium.isReady
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }
}
