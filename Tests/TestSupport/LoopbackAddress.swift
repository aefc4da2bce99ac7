/// Addresses of this machine at which nobody else listens, so that a port which is given up is not taken by another
/// test. Only Linux has more than one.
package enum LoopbackAddress {
    package static let ofRelays = only("127.77.0.21")
    package static let ofServers = only("127.77.0.22")
    package static let ofRestartedServers = only("127.77.0.23")
    package static let ofAbsentServers = only("127.77.0.24")

    private static func only(_ address: String) -> String {
        #if os(Linux)
            address
        #else
            "127.0.0.1"
        #endif
    }
}
