import Foundation
import NIOConcurrencyHelpers
import RealtimePrimitives

/// A key of 32 bytes. The key locks its memory if the system's limits allow locking, and wipes the memory when the last
/// reference is released. With libsodium, up to a thousand keys at a time also have guard pages, and cannot be
/// overwritten. There is a limit, because each of these keys takes four memory mappings. Linux limits a process to 65,530
/// mappings, and a process without free mappings cannot allocate memory.
package final class SecretKey: Sendable {
    package static let size = 32
    package static let maximumGuardedCount = 1_000

    /// The number of keys that have guard pages.
    private static let guardedCount = NIOLockedValueBox(0)

    /// The address of the key, as an integer, because pointers are not `Sendable`. Sharing is safe, because the memory
    /// does not change after the initializer.
    private let address: UInt
    private let isGuarded: Bool

    /// Creates a key; returns nil if there are not exactly 32 bytes. The initializer does not wipe the caller's bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.size else { return nil }
        let mayBeGuarded = Self.guardedCount.withLockedValue { count in
            guard count < Self.maximumGuardedCount else { return false }
            count += 1
            return true
        }
        let memory: UnsafeMutableRawPointer
        if mayBeGuarded, let guarded = Sodium.allocateGuarded(byteCount: Self.size) {
            (memory, isGuarded) = (guarded, true)
        } else {
            if mayBeGuarded { Self.guardedCount.withLockedValue { $0 -= 1 } }
            (memory, isGuarded) = (.allocate(byteCount: Self.size, alignment: 16), false)
            // The page stays locked after the key is freed, because the page may contain other keys.
            _ = mlock(memory, Self.size)
        }
        memory.withMemoryRebound(to: UInt8.self, capacity: Self.size) { pointer in
            for (offset, byte) in bytes.enumerated() { pointer[offset] = byte }
        }
        if isGuarded { Sodium.protect(memory) }
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
        // This also wipes the memory.
        if isGuarded {
            Sodium.free(memory)
            Self.guardedCount.withLockedValue { $0 -= 1 }
        } else {
            UnsafeMutableRawBufferPointer(start: memory, count: Self.size).wipe()
            memory.deallocate()
        }
    }

    /// Returns a copy of the key, which the caller wipes.
    package func copyBytes() -> [UInt8] {
        withBytes { Array(UnsafeBufferPointer(start: $0, count: Self.size)) } ?? []
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
        let areEqual = left.withBytes { left in
            right.withBytes { right in
                ConstantTime.areEqual(
                    UnsafeRawBufferPointer(start: left, count: size),
                    UnsafeRawBufferPointer(start: right, count: size)
                )
            }
        }
        return areEqual == true
    }

    /// Adds nothing, so that the hash reveals nothing about the key.
    package func hash(into hasher: inout Hasher) {}
}

extension SecretKey: CustomStringConvertible, CustomReflectable {
    /// The name of the type, without the key.
    package var description: String { "SecretKey(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Data {
    /// Overwrites the bytes in a way that the compiler does not remove.
    mutating func wipe() { withUnsafeMutableBytes { $0.wipe() } }
}
