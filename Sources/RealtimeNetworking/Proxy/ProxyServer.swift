import Foundation
import RealtimePrimitives

/// A checked HTTP proxy.
package struct ProxyServer: Hashable, Sendable {
    package var host: String
    package var port: Int
    package var credentials: HTTPProxy.Credentials?

    /// The value of `Proxy-Authorization`; nil without credentials.
    package var authorization: String? {
        credentials.map { "Basic \(Data("\($0.username):\($0.password)".utf8).base64EncodedString())" }
    }

    /// The reason why the proxy answers with status 407.
    package var reasonForRefusingCredentials: String {
        credentials == nil
            ? "requires a user name and a password (HTTP status 407)"
            : "does not accept the user name and the password (HTTP status 407)"
    }

    init(
        host: String,
        port: Int,
        credentials: HTTPProxy.Credentials?
    ) throws(NetworkError) {
        let host = HostName.withoutBrackets(host)
        guard HostName.isValid(host) else {
            // The host may be a URL that contains a password.
            let shown = host.contains("@") ? "" : " \(host.quoted)"
            throw NetworkError(
                .invalidProxy,
                "Invalid proxy host\(shown): it is neither a host name nor an IP address. Omit the scheme and the credentials."
            )
        }
        guard (1...65_535).contains(port) else {
            throw NetworkError(.invalidProxy, "Invalid proxy port \(port): it is not between 1 and 65535.")
        }
        if let credentials {
            let isValid =
                !credentials.username.utf8.contains(UInt8(ascii: ":"))
                && !(credentials.username + credentials.password).unicodeScalars.contains {
                    $0.value < 0x20 || $0.value == 0x7F
                }
            guard isValid else {
                throw NetworkError(
                    .invalidProxy,
                    "Invalid proxy credentials: a colon in the user name and control characters are not allowed."
                )
            }
        }
        self.host = host
        self.port = port
        self.credentials = credentials
    }

    /// Creates a proxy from a URL in the environment. Errors do not contain the URL, because it may contain a password.
    init(url text: String, variable: String) throws(NetworkError) {
        let problem: String
        let url = URLComponents(string: text.contains("://") ? text : "http://\(text)")
        let authority = text.components(separatedBy: "://").dropFirst().joined(separator: "://")
        let behindHost = authority.firstIndex(where: "/?#".contains).map { authority[$0...] } ?? ""
        switch url?.scheme?.lowercased() {
        case _ where behindHost.contains("@"):
            problem =
                "it has an @ after the host. Percent-encode / ? # @ : in the user name and the password"
        case "http"?:
            guard let url, let host = url.host, !host.isEmpty else {
                problem = "it has no host"
                break
            }
            let credentials = url.user.map {
                HTTPProxy.Credentials(username: $0, password: url.password ?? "")
            }
            do throws(NetworkError) {
                self = try Self(host: host, port: url.port ?? 80, credentials: credentials)
                return
            } catch {
                throw NetworkError(
                    error.code,
                    "\(error.message) The environment variable \(variable) names this proxy."
                )
            }
        case nil: problem = "it is not a URL. Percent-encode special characters in the user name and the password"
        default: problem = "its scheme is not supported. The URL must begin with http://"
        }
        throw NetworkError(
            .invalidProxy,
            "Invalid proxy in the environment variable \(variable): \(problem)."
        )
    }
}
