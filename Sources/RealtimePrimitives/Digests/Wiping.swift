#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

extension UnsafeMutableRawBufferPointer {
    /// Overwrites the bytes in a way that the compiler does not remove.
    package func wipe() {
        guard let baseAddress else { return }
        #if canImport(Darwin)
            memset_s(baseAddress, count, 0, count)
        #else
            explicit_bzero(baseAddress, count)
        #endif
    }
}

extension [UInt8] {
    /// Overwrites the bytes in a way that the compiler does not remove.
    package mutating func wipe() { withUnsafeMutableBytes { $0.wipe() } }
}
