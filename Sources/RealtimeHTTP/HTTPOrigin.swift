import Foundation
import RealtimeNetworking
import RealtimePrimitives

/// The origin of an `http` or `https` URL: scheme, host and port.
package struct HTTPOrigin: Hashable, Sendable, CustomStringConvertible {
    private var scheme: String
    private var host: String
    private var port: Int

    /// Returns nil if the text is not an `http` or `https` URL with a host.
    package init?(_ url: String) {
        guard let url = URL(string: url), let origin = HTTPOrigin(url) else { return nil }
        self = origin
    }

    init?(_ url: URL) {
        guard let scheme = url.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = url.host, !host.isEmpty
        else { return nil }
        self.scheme = scheme
        self.host = HostName.withoutBrackets(host.lowercased())
        port = url.port ?? Self.defaultPort(of: scheme)
    }

    package var isEncrypted: Bool { scheme == "https" }

    /// The origin as text, without the default port of the scheme.
    package var description: String {
        let host = HostName.withBrackets(host).prefix(fittingUTF8Bytes: 255)
        return "\(scheme)://\(host)" + (port == Self.defaultPort(of: scheme) ? "" : ":\(port)")
    }

    private static func defaultPort(of scheme: String) -> Int { scheme == "https" ? 443 : 80 }
}

extension HTTPFields {
    /// The names of the fields that every origin may get, in lower case. They contain no secrets of the app.
    private static let safeNames: Set<String> = ["accept", "cache-control", "last-event-id"]

    /// Returns whether another origin than the one for which the app has made a request may get a field.
    ///
    /// - Parameter allowed: The names that the app allows.
    package static func mayLeaveOrigin(_ name: String, allowed: Set<String>) -> Bool {
        let name = name.lowercased()
        // The name of the first host would be wrong for any other host.
        guard name != "host" else { return false }
        return safeNames.contains(name) || allowed.contains { $0.lowercased() == name }
    }

    /// Returns the fields that another origin may get.
    package func leavingOrigin(allowed: Set<String> = []) -> HTTPFields {
        var kept = HTTPFields()
        for field in fields where Self.mayLeaveOrigin(field.name, allowed: allowed) {
            kept.append(field.name, field.value)
        }
        return kept
    }
}
