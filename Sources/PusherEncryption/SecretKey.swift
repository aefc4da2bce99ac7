import CSodium
import Foundation
import NIOConcurrencyHelpers

/// A key of 32 bytes. The key locks its memory if the system's limits allow locking, and wipes the memory when the last
/// reference is released. Up to a thousand keys at a time also have guard pages, and cannot be overwritten. There is a
/// limit, because each of these keys takes four memory mappings. Linux limits a process to 65,530 mappings, and a
/// process without free mappings cannot allocate memory.
package final class SecretKey: Sendable {
    package static let size = Int(crypto_secretbox_KEYBYTES)
    package static let maximumGuardedCount = 1_000

    /// The number of keys that have guard pages.
    private static let guardedCount = NIOLockedValueBox(0)

    /// The address of the key, as an integer, because pointers are not `Sendable`. Sharing is safe, because the memory
    /// does not change after the initializer.
    private let address: UInt
    private let isGuarded: Bool

    /// Creates a key; returns nil if there are not exactly 32 bytes. The initializer does not wipe the caller's bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size, Sodium.isReady else { return nil }
        let mayBeGuarded = Self.guardedCount.withLockedValue { count in
            guard count < Self.maximumGuardedCount else { return false }
            count += 1
            return true
        }
        let memory: UnsafeMutableRawPointer
        if mayBeGuarded, let guarded = sodium_malloc(Self.size) {
            (memory, isGuarded) = (guarded, true)
        } else {
            if mayBeGuarded { Self.guardedCount.withLockedValue { $0 -= 1 } }
            (memory, isGuarded) = (.allocate(byteCount: Self.size, alignment: 16), false)
            // The page stays locked after the key is freed, because the page may contain other keys.
            sodium_mlock(memory, Self.size)
        }
        memory.withMemoryRebound(to: UInt8.self, capacity: Self.size) { pointer in
            for (offset, byte) in bytes.enumerated() { pointer[offset] = byte }
        }
        if isGuarded { sodium_mprotect_readonly(memory) }
        address = UInt(bitPattern: memory)
    }

    /// Creates a key; returns nil if the text is not the base64 of exactly 32 bytes.
    package convenience init?(base64 text: String) {
        guard text.utf8.count <= 64, var bytes = Data(base64Encoded: text) else { return nil }
        defer { bytes.wipe() }
        self.init(bytes)
    }

    deinit {
        guard let memory = UnsafeMutableRawPointer(bitPattern: address) else { return }
        // The function `sodium_free` also wipes the memory.
        if isGuarded {
            sodium_free(memory)
            Self.guardedCount.withLockedValue { $0 -= 1 }
        } else {
            sodium_memzero(memory, Self.size)
            memory.deallocate()
        }
    }

    func withBytes<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result? {
        guard let memory = UnsafeRawPointer(bitPattern: address) else { return nil }
        // The address alone does not retain the memory.
        return withExtendedLifetime(self) { body(memory.assumingMemoryBound(to: UInt8.self)) }
    }
}

extension SecretKey: Hashable {
    /// Compares keys in constant time.
    package static func == (left: SecretKey, right: SecretKey) -> Bool {
        left === right
            || left.withBytes { a in right.withBytes { b in sodium_memcmp(a, b, size) == 0 } ?? false } ?? false
    }

    /// Adds nothing, so that the hash reveals nothing about the key.
    package func hash(into hasher: inout Hasher) {}
}

extension SecretKey: CustomStringConvertible, CustomReflectable {
    /// The name of the type, without the key.
    package var description: String { "SecretKey(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// The library libsodium. Each process initializes the library once.
enum Sodium {
    static let isReady = sodium_init() >= 0
}

extension Data {
    /// Overwrites the bytes in a way that the compiler does not remove.
    mutating func wipe() {
        withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            sodium_memzero(start, bytes.count)
        }
    }
}

extension [UInt8] {
    /// Overwrites the bytes in a way that the compiler does not remove.
    mutating func wipe() {
        withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            sodium_memzero(start, bytes.count)
        }
    }
}
