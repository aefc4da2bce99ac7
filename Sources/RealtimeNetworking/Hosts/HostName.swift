/// A host name or an IP address.
package enum HostName {
    package static func isValid(_ host: String) -> Bool {
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        if host.contains(":") { return isIPv6Address(host) }
        return host.utf8.allSatisfy { $0.isAlphanumeric || "-._".utf8.contains($0) }
            && host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropLast().allSatisfy {
                !$0.isEmpty && $0.last != UInt8(ascii: "-")
            }
    }

    /// Whether the text looks like an IPv6 address, with or without a zone. The check is incomplete, because the
    /// resolver rejects invalid addresses.
    private static func isIPv6Address(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "%"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first, (2...7).contains(address.count { $0 == UInt8(ascii: ":") }) else {
            return false
        }
        return address.allSatisfy { "0123456789abcdefABCDEF:.".utf8.contains($0) }
            && parts.dropFirst().allSatisfy {
                !$0.isEmpty && $0.allSatisfy { $0.isAlphanumeric || "-._".utf8.contains($0) }
            }
    }

    /// Returns the host without the brackets that an IPv6 address may have, as in a URL.
    package static func withoutBrackets(_ host: String) -> String {
        guard host.hasPrefix("["), host.hasSuffix("]"), host.contains(":") else { return host }
        return String(host.dropFirst().dropLast())
    }

    /// Returns the host with brackets if it is an IPv6 address, for a URL or before a port.
    package static func withBrackets(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }
}

extension UInt8 {
    package var isAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    /// Whether the byte needs no escape in any part of a URL.
    package var isUnreserved: Bool { isAlphanumeric || "-._~".utf8.contains(self) }
}
