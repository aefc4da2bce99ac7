extension PusherTestRelay {
    /// The options of a relay.
    public struct Options: Sendable {
        /// The server's IP address. Default: `127.0.0.1`.
        public var serverHost: String
        /// The server's port.
        public var serverPort: Int
        /// The address to bind: `127.0.0.1` (the default), `::1`, or on Linux another address that begins with 127.
        /// Other programs normally do not use such an address, so its port stays free while the relay does not listen.
        public var host = "127.0.0.1"
        /// The port to bind. If 0, the default, the system chooses a free port.
        public var port = 0
        /// The limit for the number of recorded connections. The relay removes the oldest records first. Default:
        /// 65,536.
        public var maximumRecordCount = 65_536

        /// Creates options with their defaults.
        public init(serverHost: String = "127.0.0.1", serverPort: Int) {
            self.serverHost = serverHost
            self.serverPort = serverPort
        }
    }
}
