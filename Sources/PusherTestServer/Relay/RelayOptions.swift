extension PusherTestRelay {
    /// The options of a relay.
    public struct Options: Sendable {
        /// The IP address that connections are relayed to. Default: `127.0.0.1`.
        public var serverHost: String
        /// The port that connections are relayed to.
        public var serverPort: Int
        /// The address to bind: `127.0.0.1` (the default), `::1`, or on Linux another one that begins with 127. No
        /// other program takes the port of such an address while the relay does not listen.
        public var host = "127.0.0.1"
        /// The port to bind; 0, the default, lets the system choose a free one.
        public var port = 0
        /// How many connections are recorded; the oldest are removed first. Default: 65,536.
        public var maximumRecordCount = 65_536

        /// Options with their defaults.
        public init(serverHost: String = "127.0.0.1", serverPort: Int) {
            self.serverHost = serverHost
            self.serverPort = serverPort
        }
    }
}
