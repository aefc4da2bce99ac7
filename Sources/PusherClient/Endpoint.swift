import Foundation
import PusherProtocol

/// Where a client connects, checked.
struct Endpoint {
    /// The client's name in the URL.
    static let clientName = "pusher-client-swift"
    /// The package's version.
    static let version = "0.1.0"
    /// The version of the protocol.
    static let protocolVersion = 7

    let url: String
    let request: Result<TransportRequest, PusherClientError>

    init(key: String, options: PusherClientOptions) {
        // A slash at the end would make two before "app".
        let prefix = options.path.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? ""
        let query = "client=\(Self.clientName)&version=\(Self.version)&protocol=\(Self.protocolVersion)"
        let target = "\(prefix)/app/\(key)?\(query)"
        let host = Self.withoutBrackets(options.host)
        let authority = host.contains(":") ? "[\(host)]" : host
        url = "\(options.useTLS ? "wss" : "ws")://\(authority):\(options.port)\(target)"
        request = Result { () throws(PusherClientError) in
            try Self.check(key: key, host: host, prefix: prefix, options)
            let request = TransportRequest(
                host: host,
                port: options.port,
                useTLS: options.useTLS,
                path: target,
                subprotocol: options.subprotocol,
                headers: options.headers.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: $0.value) }
            )
            // Refuses the headers and the subprotocol that an upgrade cannot carry.
            _ = try UpgradeRequest(request)
            return request
        }
    }

    // MARK: Checks

    private static func check(
        key: String,
        host: String,
        prefix: String,
        _ options: PusherClientOptions
    ) throws(PusherClientError) {
        guard !key.isEmpty, key.utf8.allSatisfy(isKeyByte) else {
            throw PusherClientError(
                .invalidKey,
                "the app key \(quoted(key)) is not usable: it must have letters, digits, - . _ ~ only, and at least one"
            )
        }
        guard isHost(host) else {
            throw PusherClientError(
                .invalidHost,
                """
                the host \(quoted(options.host)) is neither a host name nor an IP address; give it without a scheme, \
                a path and a port
                """
            )
        }
        guard (1...65_535).contains(options.port) else {
            throw PusherClientError(.invalidPort, "the port \(options.port) is not within 1 and 65535")
        }
        guard prefix.isEmpty || prefix.utf8.first == UInt8(ascii: "/"), prefix.utf8.allSatisfy(isPathByte) else {
            throw PusherClientError(
                .invalidPath,
                """
                the path \(quoted(options.path ?? "")) is not usable: it must start with a slash and have nothing in it \
                that a URL's path cannot hold unescaped
                """
            )
        }
        try checkOptions(options)
        try options.tls.validate()
    }

    private static func checkOptions(_ options: PusherClientOptions) throws(PusherClientError) {
        if let timeout = options.activityTimeout, !(timeout >= 0.001) {
            throw PusherClientError(
                .invalidOption,
                "the activityTimeout \(timeout) is not at least 0.001 seconds"
            )
        }
        let timeouts = options.timeouts
        let durations = [
            ("connectionAttempt", timeouts.connectionAttempt), ("unavailable", timeouts.unavailable),
            ("pong", timeouts.pong), ("subscription", timeouts.subscription),
            ("authorization", timeouts.authorization), ("signIn", timeouts.signIn), ("closing", timeouts.closing),
        ]
        if let (name, duration) = durations.first(where: { $0.1 <= .zero }) {
            throw PusherClientError(.invalidOption, "the timeout \(name), \(duration), is not positive")
        }
        guard timeouts.backOffReset >= .zero else {
            throw PusherClientError(.invalidOption, "the timeout backOffReset, \(timeouts.backOffReset), is negative")
        }
        let limits = options.limits
        let sizes = [
            ("messageSize", limits.messageSize), ("sequenceBuffer", limits.sequenceBuffer),
            ("pendingCallbacks", limits.pendingCallbacks), ("authorizationsAtOnce", limits.authorizationsAtOnce),
            ("authorizationTries", limits.authorizationTries),
            ("authorizationResponseSize", limits.authorizationResponseSize),
            ("queuedClientEvents", limits.queuedClientEvents),
            ("clientEventsPerSecond", limits.clientEventsPerSecond ?? 1),
            ("clientEventSize", limits.clientEventSize), ("heldEncryptedEvents", limits.heldEncryptedEvents),
        ]
        if let (name, size) = sizes.first(where: { $0.1 <= 0 }) {
            throw PusherClientError(.invalidOption, "the limit \(name), \(size), is not positive")
        }
    }

    private static func quoted(_ value: String) -> String { String(reflecting: String(value.prefix(200))) }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }

    private static func isKeyByte(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "-._~".utf8.contains(byte) }

    private static func isPathByte(_ byte: UInt8) -> Bool { isKeyByte(byte) || "/%!$&'()*+,;=:@".utf8.contains(byte) }

    private static func isHost(_ host: String) -> Bool {
        guard !host.isEmpty, host.utf8.count <= 255 else { return false }
        if host.contains(":") { return isIPv6Address(host) }
        return host.utf8.allSatisfy { isAlphanumeric($0) || "-._".utf8.contains($0) }
            && host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).dropLast().allSatisfy {
                !$0.isEmpty && $0.last != UInt8(ascii: "-")
            }
    }

    /// Perhaps with a zone. What is of the right shape and still no address, the resolver refuses.
    private static func isIPv6Address(_ host: String) -> Bool {
        let parts = host.utf8.split(separator: UInt8(ascii: "%"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = parts.first, (2...7).contains(address.count { $0 == UInt8(ascii: ":") }) else {
            return false
        }
        return address.allSatisfy { "0123456789abcdefABCDEF:.".utf8.contains($0) }
            && parts.dropFirst().allSatisfy {
                !$0.isEmpty && $0.allSatisfy { isAlphanumeric($0) || "-._".utf8.contains($0) }
            }
    }

    /// An IPv6 address may be given as it stands in a URL.
    private static func withoutBrackets(_ host: String) -> String {
        guard host.hasPrefix("["), host.hasSuffix("]"), host.contains(":") else { return host }
        return String(host.dropFirst().dropLast())
    }
}

extension CoreConfiguration {
    init(_ endpoint: Endpoint, options: PusherClientOptions) {
        self.init(endpoint: endpoint.request)
        autoReconnect = options.autoReconnect
        timeouts = options.timeouts.clamped
        authorizationsAtOnce = options.limits.authorizationsAtOnce
        authorizationTries = options.limits.authorizationTries
        heldEncryptedEvents = options.limits.heldEncryptedEvents
        queuedClientEvents = options.limits.queuedClientEvents
        clientEventsPerSecond = options.limits.clientEventsPerSecond
        // PusherSwift's bound is that of the default policy. Another policy has bounds of its own.
        if (options.retryPolicy as? ExponentialRetryPolicy) != .exponential { maximumRetryDelay = nil }
        if let timeout = options.activityTimeout.flatMap({ Duration(timeInterval: $0) }) { activityTimeout = timeout }
    }
}

extension PusherClientOptions.Timeouts {
    /// So long that nobody waits for it, and short enough to be counted in nanoseconds.
    private static var longest: Duration { .seconds(100 * 365 * 86_400) }

    /// The same times, those cut that cannot be counted.
    var clamped: Self {
        var timeouts = self
        let paths = [
            \Self.connectionAttempt, \.unavailable, \.pong, \.subscription, \.authorization, \.signIn, \.closing,
            \.backOffReset,
        ]
        for path in paths {
            timeouts[keyPath: path] = min(timeouts[keyPath: path], Self.longest)
        }
        return timeouts
    }
}
