import Foundation
import RealtimePrimitives
import TestTraits
import Testing

@testable import PusherEncryption

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// The tests run one after another, because only a limited number of keys is guarded.
@Suite("The memory of keys", .limited, .serialized)
struct KeyMemoryTests {
    private let bytes = (0..<32).map { UInt8($0) &* 7 &+ 1 }

    /// Reads the memory at an address, or returns nil if the memory is not readable. The system does the reading, so an
    /// invalid address does not trap.
    private func read(_ address: UInt, count: Int) throws -> [UInt8]? {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        guard write(ends[1], UnsafeRawPointer(bitPattern: address), count) == count else { return nil }
        var found = [UInt8](repeating: 0, count: count)
        try #require(Glibc_read(ends[0], &found, count) == count)
        return found
    }

    @Test("a key is read-only while it exists, and its memory no longer contains the key after the release")
    func wiped() throws {
        var key = SecretKey(bytes)
        let address = try #require(key?.withBytes { UInt(bitPattern: $0) })
        #expect(try read(address, count: 32) == bytes)
        // Only libsodium's memory can be made read-only.
        #expect(try isWritable(address) == !SecretBox.isAvailable)
        key = nil
        // The address may be readable, because the system may have given the key's pages to another owner.
        #expect(try read(address, count: 32) != bytes)
    }

    #if os(Linux)
        @Test("many keys do not use up the memory mappings of a process")
        func many() throws {
            func mappings() throws -> Int {
                try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).utf8.count { $0 == UInt8(ascii: "\n") }
            }
            let before = try mappings()
            let keys = (0..<20_000).map { number in
                SecretKey((0..<32).map { UInt8(truncatingIfNeeded: number >> ($0 % 2 * 8)) })
            }
            #expect(try mappings() - before < 6 * SecretKey.maximumGuardedCount)
            for (number, key) in keys.enumerated() {
                #expect(key?.withBytes { [$0[0], $0[31]] } == [UInt8(number & 0xFF), UInt8(number >> 8)])
            }
        }
    #endif

    /// Returns whether the system can write at an address.
    private func isWritable(_ address: UInt) throws -> Bool {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try #require(write(ends[1], bytes, 1) == 1)
        return Glibc_read(ends[0], UnsafeMutableRawPointer(bitPattern: address), 1) == 1
    }

    @Test("wipe() overwrites the bytes of an array or data in place")
    func copies() {
        var array = bytes
        array.withUnsafeMutableBufferPointer { _ in }
        let before = array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
        array.wipe()
        #expect(array.allSatisfy { $0 == 0 } && array.count == 32)
        #expect(array.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } == before)
        var data = Data(bytes)
        data.wipe()
        #expect(data.allSatisfy { $0 == 0 } && data.count == 32)
        var nothing: [UInt8] = []
        nothing.wipe()
    }
}

/// Calls the C function. In the suite, `read` alone means the suite's own method.
private func Glibc_read(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.read(descriptor, target, count)
    #else
        Darwin.read(descriptor, target, count)
    #endif
}
