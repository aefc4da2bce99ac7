extension PusherTestRelay {
    /// What a relay is made with.
    public struct Options: Sendable {
        /// Where connections are relayed to, as an IP address. Default: `127.0.0.1`.
        public var serverHost: String
        /// The port that connections are relayed to.
        public var serverPort: Int
        /// The address to bind: `127.0.0.1` (the default), `::1`, or on Linux any other that begins with 127: nobody
        /// else takes its port while the relay does not listen.
        public var host = "127.0.0.1"
        /// The port to bind; 0, the default, lets the system choose a free one.
        public var port = 0
        /// How many connections are remembered; of more, the oldest are forgotten. Default: 65,536.
        public var maximumRecordCount = 65_536

        /// Options with their defaults.
        public init(serverHost: String = "127.0.0.1", serverPort: Int) {
            self.serverHost = serverHost
            self.serverPort = serverPort
        }
    }
}
