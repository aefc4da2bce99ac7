import CSodium
import Foundation

/// The key of an encrypted channel: SHA-256 of the channel's name and the app's master key (protocol clause 10).
package enum SharedSecret {
    /// Returns the key in base64, as in the `shared_secret` of an authorization.
    package static func base64(channel: String, masterKey: SecretKey) -> String {
        var bytes = derive(channel: channel, masterKey: masterKey)
        defer { bytes.wipe() }
        return Data(bytes).base64EncodedString()
    }

    package static func key(channel: String, masterKey: SecretKey) -> SecretKey? {
        var bytes = derive(channel: channel, masterKey: masterKey)
        defer { bytes.wipe() }
        return SecretKey(bytes)
    }

    private static func derive(channel: String, masterKey: SecretKey) -> [UInt8] {
        var state = crypto_hash_sha256_state()
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        let name = Array(channel.utf8)
        crypto_hash_sha256_init(&state)
        crypto_hash_sha256_update(&state, name, UInt64(name.count))
        _ = masterKey.withBytes { crypto_hash_sha256_update(&state, $0, UInt64(SecretKey.size)) }
        crypto_hash_sha256_final(&state, &digest)
        sodium_memzero(&state, MemoryLayout<crypto_hash_sha256_state>.size)
        return digest
    }
}
