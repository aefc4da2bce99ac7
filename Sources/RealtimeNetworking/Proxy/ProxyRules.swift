import Foundation
import RealtimePrimitives

/// The rules that decide which connections use which proxy.
package struct ProxyRules: Hashable, Sendable {
    /// All connections are direct.
    package static let direct = ProxyRules()

    /// The enumeration is indirect to save memory, because many objects contain rules, and most rules have no proxy.
    private indirect enum Way: Hashable {
        case direct
        case through(ProxyServer)
        case unusable(NetworkError)

        init(_ server: () throws(NetworkError) -> ProxyServer) {
            do throws(NetworkError) {
                self = .through(try server())
            } catch {
                self = .unusable(error)
            }
        }
    }

    private var forTLS = Way.direct
    private var forPlain = Way.direct
    private var exemptions: [ProxyExemption] = []
    private var exemptsLoopback = false

    private init() {}

    /// Creates the rules. An invalid setting is an error only for the connections that need it.
    ///
    /// - Parameter environment: The environment variables of the process.
    package init(
        _ proxy: HTTPProxy,
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) {
        switch proxy {
        case .direct:
            break
        case .server(let host, let port, let credentials, let exempting):
            let way = Way { () throws(NetworkError) in
                exemptions = try exempting.map { text throws(NetworkError) in
                    guard let exemption = ProxyExemption(text) else {
                        throw NetworkError(
                            .invalidProxy,
                            "Invalid proxy exemption \(text.quoted): it is not a host, an address or a range of addresses."
                        )
                    }
                    return exemption
                }
                return try ProxyServer(host: host, port: port, credentials: credentials)
            }
            forTLS = way
            forPlain = way
        case .environment:
            // A client of a CGI program can set HTTP_PROXY by a request header named Proxy. So the code does not read
            // this variable.
            forTLS = Self.way(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"], in: environment)
            forPlain = Self.way(["http_proxy", "all_proxy", "ALL_PROXY"], in: environment)
            let list = Self.value(["no_proxy", "NO_PROXY"], in: environment)?.value ?? ""
            // The list may have entries in a syntax of other programs. Such entries must not prevent connections.
            exemptions = list.split(whereSeparator: { $0 == "," || $0.isWhitespace }).compactMap {
                ProxyExemption(String($0))
            }
            exemptsLoopback = true
        }
    }

    private static func value(_ names: [String], in environment: [String: String]) -> (name: String, value: String)? {
        for name in names {
            guard let value = environment[name]?.trimmingCharacters(in: .whitespaces), !value.isEmpty else { continue }
            return (name, value)
        }
        return nil
    }

    private static func way(_ names: [String], in environment: [String: String]) -> Way {
        guard let (name, value) = value(names, in: environment) else { return .direct }
        return Way { () throws(NetworkError) in try ProxyServer(url: value, variable: name) }
    }

    /// Returns the proxy for a server; nil for a direct connection.
    ///
    /// - Throws: An error with the code ``NetworkError/Code/invalidProxy`` if the client cannot use the proxy, or
    ///   cannot verify the server's certificate through it.
    package func proxy(
        forHost host: String,
        port: Int,
        useTLS: Bool,
        tls: TLSOptions
    ) throws(NetworkError) -> ProxyServer? {
        let way = useTLS ? forTLS : forPlain
        if way == .direct { return nil }
        let place = HostPlace(host: host, port: port)
        if exemptsLoopback, place.isLoopback { return nil }
        if exemptions.contains(where: { $0.matches(place) }) { return nil }
        let proxy: ProxyServer
        switch way {
        case .direct: return nil
        case .unusable(let error): throw error
        case .through(let server): proxy = server
        }
        // TLS compares the address in a certificate with the address of its peer. Through a proxy, the peer is the
        // proxy, so the client cannot verify the server's address.
        if useTLS, place.address != nil, tls.certificateVerification == .full {
            throw NetworkError(
                .invalidProxy,
                """
                Proxy '\(proxy.host)' not usable: the certificate of the address '\(host)' cannot be verified through it. \
                Give the server's name, or exempt the address.
                """
            )
        }
        return proxy
    }
}
