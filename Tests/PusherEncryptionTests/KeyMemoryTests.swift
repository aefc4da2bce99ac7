import Foundation
import Testing

@testable import PusherEncryption

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

// One after the other, because keys beyond a number are not guarded.
@Suite("The memory of keys", .serialized)
struct KeyMemoryTests {
    private let bytes = (0..<32).map { UInt8($0) &* 7 &+ 1 }

    /// The memory at an address; nil if it cannot be read. The system reads it, so that nothing traps.
    private func read(_ address: UInt, count: Int) throws -> [UInt8]? {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        guard write(ends[1], UnsafeRawPointer(bitPattern: address), count) == count else { return nil }
        var found = [UInt8](repeating: 0, count: count)
        try #require(Glibc_read(ends[0], &found, count) == count)
        return found
    }

    @Test("a key can be read while it exists, but not changed; after its release it is nowhere in memory")
    func wiped() throws {
        var key = SecretKey(bytes)
        let address = try #require(key?.withBytes { UInt(bitPattern: $0) })
        #expect(try read(address, count: 32) == bytes)
        #expect(try isWritable(address) == false)
        key = nil
        // Its pages are returned to the system, and may have other owners by now.
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

    /// Whether the system can write there.
    private func isWritable(_ address: UInt) throws -> Bool {
        var ends: [Int32] = [0, 0]
        try #require(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        try #require(write(ends[1], bytes, 1) == 1)
        return Glibc_read(ends[0], UnsafeMutableRawPointer(bitPattern: address), 1) == 1
    }

    @Test("the bytes from which a key was made are overwritten")
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

/// Foundation's protocols have a method of that name.
private func Glibc_read(_ descriptor: Int32, _ target: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.read(descriptor, target, count)
    #else
        Darwin.read(descriptor, target, count)
    #endif
}
