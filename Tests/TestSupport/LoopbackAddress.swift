/// Addresses of this machine for tests that release their port for a while, so that no other test takes it meanwhile.
/// Only Linux has more than one.
package enum LoopbackAddress {
    /// One of eight million, so that no other test has it, not even in another process at the same time.
    package static func ofItsOwn() -> String {
        #if os(Linux)
            "127.\(Int.random(in: 128...254)).\(Int.random(in: 0...254)).\(Int.random(in: 1...254))"
        #else
            "127.0.0.1"
        #endif
    }
}
