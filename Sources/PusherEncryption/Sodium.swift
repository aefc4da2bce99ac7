#if BundledSodium && canImport(Clibsodium)
    import Clibsodium
#elseif SystemSodium && canImport(CSodium)
    import CSodium
#endif

/// The library libsodium, if this build has it. All calls of the library are in this file.
///
/// The traits `SystemSodium` and `BundledSodium` decide which library a build has. Only the secretbox and the guarded
/// memory of keys need it.
enum Sodium {
    /// Whether this build has the library, and the library works on this machine. Each process initializes the library
    /// once.
    static let isAvailable: Bool = {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            return sodium_init() >= 0
        #else
            return false
        #endif
    }()

    /// Returns memory with guard pages, or nil if there is none.
    static func allocateGuarded(byteCount: Int) -> UnsafeMutableRawPointer? {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            return isAvailable ? sodium_malloc(byteCount) : nil
        #else
            return nil
        #endif
    }

    /// Makes guarded memory read-only.
    static func protect(_ guarded: UnsafeMutableRawPointer) {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            _ = sodium_mprotect_readonly(guarded)
        #endif
    }

    /// Wipes and frees guarded memory.
    static func free(_ guarded: UnsafeMutableRawPointer) {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            sodium_free(guarded)
        #endif
    }

    /// Decrypts a box into memory that is large enough for the message. The memory may overlap the box.
    ///
    /// - Parameter nonce: 24 bytes.
    static func open(
        _ box: UnsafeRawBufferPointer,
        nonce: UnsafePointer<UInt8>,
        key: UnsafePointer<UInt8>,
        into message: UnsafeMutableRawPointer?
    ) -> Bool {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            guard let start = box.assumingMemoryBound(to: UInt8.self).baseAddress else { return false }
            let target = message?.assumingMemoryBound(to: UInt8.self)
            return isAvailable && crypto_secretbox_open_easy(target, start, UInt64(box.count), nonce, key) == 0
        #else
            return false
        #endif
    }

    /// Encrypts a message into a box of the message's size and 16 bytes more.
    ///
    /// - Parameter nonce: 24 bytes.
    static func seal(_ message: [UInt8], nonce: [UInt8], key: UnsafePointer<UInt8>, into box: inout [UInt8]) -> Bool {
        #if (BundledSodium && canImport(Clibsodium)) || (SystemSodium && canImport(CSodium))
            return isAvailable && crypto_secretbox_easy(&box, message, UInt64(message.count), nonce, key) == 0
        #else
            return false
        #endif
    }
}
