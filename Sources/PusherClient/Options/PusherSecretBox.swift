/// Code that opens the boxes of encrypted channels, for builds without libsodium: see <doc:Encryption>.
///
/// <!-- snippet: skip, because it needs the package swift-sodium -->
/// ```swift
/// import Sodium    // the package swift-sodium
///
/// struct SodiumBox: PusherSecretBox {
///     func open(_ box: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
///         Sodium().secretBox.open(authenticatedCipherText: box, secretKey: key, nonce: nonce)
///     }
/// }
///
/// options.secretBox = SodiumBox()
/// ```
public protocol PusherSecretBox: Sendable {
    /// Opens a box of NaCl's secretbox, which is XSalsa20 and Poly1305.
    ///
    /// The client calls this method on its event loop, for one event at a time, so the method must not block. It must
    /// not keep the key.
    ///
    /// - Parameters:
    ///   - box: The tag of 16 bytes and the encrypted message. The size is at least 16 bytes.
    ///   - nonce: 24 bytes.
    ///   - key: 32 bytes.
    /// - Returns: The message; nil if the tag does not fit, because the key is wrong or the box was changed. The client
    ///   then fetches the channel's key again, and drops the event if the new key does not help.
    func open(_ box: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]?
}
