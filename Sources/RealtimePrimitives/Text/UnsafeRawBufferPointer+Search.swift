#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension UnsafeRawBufferPointer {
    /// Where the byte is for the first time. The search of the C library looks at many bytes at once.
    package func offset(of byte: UInt8) -> Int? {
        guard let baseAddress, let found = memchr(baseAddress, Int32(byte), count) else { return nil }
        return UnsafeRawPointer(found) - baseAddress
    }
}
