import Foundation
import NIOCore

/// The host of a connection, in a form that can be compared with exemptions.
package struct HostPlace {
    package let name: String
    let port: Int
    /// The bytes of the IP address in network order, or nil for a name. For an IPv4-mapped IPv6 address, the value has
    /// only the 4 bytes of the IPv4 address.
    package let address: [UInt8]?

    package init(host: String, port: Int) {
        let host = HostName.withoutBrackets(host).lowercased()
        name = host.hasSuffix(".") ? String(host.dropLast()) : host
        self.port = port
        address = Self.bytes(ofAddress: name)
    }

    var isLoopback: Bool {
        guard let address else { return name == "localhost" || name.hasSuffix(".localhost") }
        return address.count == 4 ? address[0] == 127 : address == Array(repeating: 0, count: 15) + [1]
    }

    /// Returns the bytes, or nil if the text is not an IP address.
    static func bytes(ofAddress text: String) -> [UInt8]? {
        let withoutZone = text.split(separator: "%", maxSplits: 1).first.map(String.init) ?? text
        let bytes: [UInt8]
        switch try? SocketAddress(ipAddress: withoutZone, port: 0) {
        // `sin_addr` and `sin6_addr`. Which module declares them depends on the order of the files in a release build.
        case .v4(let address)?: bytes = withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address)?: bytes = withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket?, nil: return nil
        }
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        return bytes.starts(with: mapped) ? Array(bytes.dropFirst(mapped.count)) : bytes
    }
}

/// An entry of a list of hosts that the client connects to directly.
package struct ProxyExemption: Hashable, Sendable {
    private enum Hosts: Hashable {
        case all
        /// The host with this name, and its subdomains.
        case domain(String)
        case addresses([UInt8], prefixLength: Int)
    }

    private let hosts: Hosts
    private let port: Int?

    /// Parses an entry. The result is nil if the text is invalid.
    package init?(_ text: String) {
        if text == "*" {
            hosts = .all
            port = nil
            return
        }
        let (host, portText) = Self.split(text.lowercased())
        if let portText {
            guard let number = Int(portText), (1...65_535).contains(number) else { return nil }
            port = number
        } else {
            port = nil
        }
        let parts = host.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        if let address = HostPlace.bytes(ofAddress: HostName.withoutBrackets(parts[0])) {
            // A list can contain an IPv4 address in the form of an IPv6 address. In this form, the prefix length
            // includes 96 additional bits.
            let (all, before) = (address.count * 8, address.count == 4 && host.contains(":") ? 96 : 0)
            guard parts.count < 3, let length = parts.count == 2 ? Int(parts[1]) : before + all,
                (before...before + all).contains(length)
            else { return nil }
            hosts = .addresses(address, prefixLength: length - before)
            return
        }
        var name = host
        if name.hasPrefix("*.") { name.removeFirst(2) } else if name.hasPrefix(".") { name.removeFirst() }
        if name.hasSuffix(".") { name.removeLast() }
        guard !name.contains(":"), HostName.isValid(name) else { return nil }
        hosts = .domain(name)
    }

    /// Splits an entry into its host and its port. IPv6 addresses contain colons too, so a port can follow an IPv6
    /// address only if the address has brackets.
    private static func split(_ text: String) -> (host: String, port: String?) {
        if text.hasPrefix("["), let end = text.lastIndex(of: "]") {
            let rest = text[text.index(after: end)...]
            return rest.hasPrefix(":") ? (String(text[...end]), String(rest.dropFirst())) : (text, nil)
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        return parts.count == 2 ? (parts[0], parts[1]) : (text, nil)
    }

    package func matches(_ place: HostPlace) -> Bool {
        if let port, port != place.port { return false }
        switch hosts {
        case .all: return true
        case .domain(let name): return place.name == name || place.name.hasSuffix(".\(name)")
        case .addresses(let address, let length):
            guard let other = place.address, other.count == address.count else { return false }
            return zip(address, other).enumerated().allSatisfy { index, bytes in
                let bits = min(max(length - index * 8, 0), 8)
                return (bytes.0 ^ bytes.1) >> (8 - bits) == 0
            }
        }
    }
}
