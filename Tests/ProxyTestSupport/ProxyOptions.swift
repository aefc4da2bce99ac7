import Foundation

extension TestProxy {
    /// The options of a proxy.
    package struct Options: Sendable {
        /// The address to bind: `127.0.0.1` or `::1`.
        var host = "127.0.0.1"
        /// The port to bind. With 0, the system chooses a free port.
        var port = 0
        /// The credentials that the proxy requires. The proxy answers requests without them with 407. If nil, every
        /// request is authorized.
        package var credentials: Credentials?
        /// The realm that the proxy names in a 407.
        var realm = "TestProxy"
        /// The addresses of hosts by their names in lower case, as in `/etc/hosts`. The proxy resolves no other name.
        ///
        /// A test can add names that only the proxy knows. A client that resolves one of these names by itself fails.
        package var hosts = ["localhost": "127.0.0.1"]

        package init() {}
    }

    /// A user name and a password, which clients send as Basic authentication (RFC 7617).
    package struct Credentials: Sendable {
        /// The user name, without a colon.
        let username: String
        let password: String

        package init(username: String, password: String) {
            self.username = username
            self.password = password
        }

        /// The value of `Proxy-Authorization` after the word Basic.
        var token: String { Data("\(username):\(password)".utf8).base64EncodedString() }
    }
}

/// Prints credentials without the password.
extension TestProxy.Credentials: CustomStringConvertible, CustomReflectable {
    package var description: String { "Credentials(username: \(username))" }
    package var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
