import NIOCore

/// The rule for the `Host` of requests to a server on a loopback address.
///
/// Without the rule, a web page can use a name of its own that leads to this machine (DNS rebinding). The browser would
/// then treat the server as a part of the page's site. An address instead of a name cannot be used for this attack, and
/// emulators and forwarders need it: in Android's emulator, this machine is `10.0.2.2`.
package struct HostRule: Sendable {
    private let names: Set<String>

    /// - Parameters:
    ///   - host: The address on which the server listens.
    ///   - allowed: Further names, without ports.
    package init(boundTo host: String, allowed: Set<String> = []) {
        names = Set(allowed.map { $0.lowercased() }).union([host.lowercased(), "localhost"])
    }

    /// Returns whether a request may have the `Host`.
    ///
    /// - Parameters:
    ///   - host: The value of the header field.
    ///   - port: The port that `host` must contain. Nil, the default, means any port.
    package func accepts(_ host: String, port: Int? = nil) -> Bool {
        guard let place = Place(host), port == nil || place.port == port else { return false }
        return names.contains(place.name) || place.name.hasSuffix(".localhost") || place.isAddress
    }

    /// Returns whether only this machine can reach the address.
    package static func isLoopback(_ host: String) -> Bool {
        if host.lowercased() == "localhost" { return true }
        guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return false }
        return host.hasPrefix("127.") || address == (try? SocketAddress(ipAddress: "::1", port: 0))
    }

    /// Returns whether the origin is the server itself, at the `Host` of the same request.
    package static func isOrigin(_ origin: String, of host: String, scheme: String) -> Bool {
        origin.lowercased() == "\(scheme)://\(host.lowercased())"
    }

    /// Returns whether the value of a `Host` has an IP address instead of a name.
    static func isAddress(_ host: String) -> Bool { Place(host)?.isAddress == true }

    /// The parts of a `Host`.
    private struct Place {
        /// In lower case, without the brackets of IPv6 addresses.
        var name: String
        var port: Int?

        init?(_ host: String) {
            let bracket = host.firstIndex(of: "]").map(host.index(after:))
            if host.hasPrefix("["), bracket == nil { return nil }
            let end = host.hasPrefix("[") ? bracket : host.firstIndex(of: ":")
            let name = host[..<(end ?? host.endIndex)]
            self.name = (name.hasPrefix("[") ? name.dropFirst().dropLast() : name).lowercased()
            let rest = host[name.endIndex...]
            guard !self.name.isEmpty, rest.isEmpty || rest.hasPrefix(":") else { return nil }
            if rest.isEmpty { return }
            guard let port = UInt16(rest.dropFirst()), rest.dropFirst().utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else {
                return nil
            }
            self.port = Int(port)
        }

        var isAddress: Bool { (try? SocketAddress(ipAddress: name, port: 0)) != nil }
    }
}
