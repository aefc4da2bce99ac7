/// Addresses of this machine for tests that release their port for a while. Other tests use other addresses, so they do
/// not take the port meanwhile. Only Linux has more than one address of loopback.
package enum LoopbackAddress {
    /// On Linux, returns one of eight million addresses, so two tests hardly ever get the same address, even in
    /// different processes. On other systems, returns 127.0.0.1.
    package static func ofItsOwn() -> String {
        #if os(Linux)
            "127.\(Int.random(in: 128...254)).\(Int.random(in: 0...254)).\(Int.random(in: 1...254))"
        #else
            "127.0.0.1"
        #endif
    }
}
