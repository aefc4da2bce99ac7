import Foundation
import RealtimePrimitives

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
        let name = Array(channel.utf8)
        let digest = name.withUnsafeBytes { name in
            masterKey.withBytes { key in
                SHA256.digest(of: [name, UnsafeRawBufferPointer(start: key, count: SecretKey.size)])
            }
        }
        return digest ?? []
    }
}
