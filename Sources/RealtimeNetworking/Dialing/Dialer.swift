package import NIOCore
package import NIOPosix

/// Makes the connections of one client, for all its protocols. A client has one dialer, so its TLS options, pins, proxies
/// and resolver hold for all its connections.
package struct Dialer: Sendable {
    /// The server of a connection.
    package struct Target: Hashable, Sendable {
        /// A host name or an IP address, without brackets.
        package var host: String
        package var port: Int
        package var useTLS: Bool

        package init(host: String, port: Int, useTLS: Bool) {
            self.host = HostName.withoutBrackets(host)
            self.port = port
            self.useTLS = useTLS
        }

        /// The host and the port, as in the `Host` field of HTTP. The text has no port if it is the scheme's default.
        package var authority: String {
            port == (useTLS ? 443 : 80) ? HostName.withBrackets(host) : hostAndPort
        }

        /// The host and the port, as a proxy expects them.
        var hostAndPort: String { "\(HostName.withBrackets(host)):\(port)" }

        /// The name for SNI; nil if the host is an address. TLS checks the certificate for an address against the
        /// peer's address.
        var serverNameForTLS: String? {
            guard (try? SocketAddress(ipAddress: host, port: 0)) == nil else { return nil }
            return host.hasSuffix(".") ? String(host.dropLast()) : host
        }
    }

    package let tlsContexts: TLSContextSource
    package let proxies: ProxyRules
    let resolver: (any Resolver & Sendable)?
    /// A closure that gets each channel before the channel connects. Tests count the channels.
    let observe: (@Sendable (any Channel) -> Void)?

    /// - Parameters:
    ///   - tlsContexts: The TLS options, and their context. If the options are invalid, each connection over TLS fails:
    ///     see ``TLSOptions/validate()``.
    ///   - resolver: The resolver of host names, which all attempts share. Each attempt calls `cancelQueries()` at its
    ///     end, which must not affect the queries of other attempts. Default: the system.
    package init(
        tlsContexts: TLSContextSource = TLSContextSource(TLSOptions()),
        proxies: ProxyRules = .direct,
        resolver: (any Resolver & Sendable)? = nil,
        observe: (@Sendable (any Channel) -> Void)? = nil
    ) {
        self.tlsContexts = tlsContexts
        self.proxies = proxies
        self.resolver = resolver
        self.observe = observe
    }

    /// Checks whether the client may connect to a server, and returns the proxy; nil for a direct connection.
    ///
    /// - Throws: An error with the code ``NetworkError/Code/invalidOption`` if keys are pinned and the connection has no
    ///   TLS, because such a server shows no key. An error with the code ``NetworkError/Code/invalidProxy`` if the client
    ///   cannot use the proxy for the server.
    package func proxy(for target: Target) throws(NetworkError) -> ProxyServer? {
        guard target.useTLS || tlsContexts.options.pins.isEmpty else {
            throw NetworkError(
                .invalidOption,
                """
                Invalid option tls.pins: the connection to '\(target.host)', port \(target.port), has no TLS, so the \
                server shows no key. Use TLS, or remove the pins.
                """
            )
        }
        return try proxies.proxy(
            forHost: target.host,
            port: target.port,
            useTLS: target.useTLS,
            tls: tlsContexts.options
        )
    }
}

extension Channel {
    /// Closes the connection without the closing handshake of TLS, which would wait for the peer's answer.
    package func closeAtOnce() {
        if let tls = tlsContext { tls.close(promise: nil) } else { close(promise: nil) }
    }
}
