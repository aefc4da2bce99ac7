import Foundation

extension PusherTestProxy {
    /// What a proxy is made with. Every option has a default that suits most tests.
    public struct Options: Sendable {
        /// The address to bind: `127.0.0.1` (the default) or `::1`.
        public var host = "127.0.0.1"
        /// The port to bind; 0, the default, lets the system choose a free one.
        public var port = 0
        /// Who may use the proxy; others are answered with 407. Nil, the default, lets everybody.
        public var credentials: Credentials?
        /// What clients are told that the user name and the password are for. Default: `PusherTestProxy`.
        public var realm = "PusherTestProxy"
        /// The addresses of hosts by their names in lower case, as `/etc/hosts` has them. No other name is resolved.
        /// Default: `localhost` is `127.0.0.1`.
        ///
        /// A client that resolves a name by itself never gets one right that stands only here.
        public var hosts = ["localhost": "127.0.0.1"]
        /// How many records are kept; of more, the oldest are forgotten. Default: 65,536.
        public var maximumRecordCount = 65_536

        /// Options with their defaults.
        public init() {}
    }

    /// A user name and a password, which clients send as Basic authentication (RFC 7617).
    public struct Credentials: Hashable, Sendable {
        /// The user name, without a colon.
        public var username: String
        /// The password.
        public var password: String

        /// Makes credentials.
        public init(username: String, password: String) {
            self.username = username
            self.password = password
        }

        /// The value of `Proxy-Authorization` behind the word Basic.
        var token: String { Data("\(username):\(password)".utf8).base64EncodedString() }
    }
}

extension PusherTestProxy.Credentials: CustomStringConvertible, CustomReflectable {
    /// The user name; the password is left out.
    public var description: String { "Credentials(username: \(username))" }
    /// The user name; the password is left out.
    public var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
