import ArgumentParser
import Foundation
import PusherClient
import PusherServerAPI
import PusherTestServer
import RealtimeTestHTTP

/// A server and an application. The values come from options, environment and defaults.
struct Server: Sendable {
    var host: String
    var port: Int
    var path: String?
    var useTLS: Bool
    /// The host of the REST API. The hosted service has a separate host for this API.
    var apiHost: String
    var application: PusherServerAPI.Application
    /// Whether the host comes from PUSHER_HOST and the scheme from nowhere, so that the tool uses TLS.
    private(set) var assumesTLS = false

    /// - Throws: `ValidationError` if an option or a variable is invalid.
    init(_ options: ServerOptions, environment: [String: String]) throws {
        let variable = { (name: String) in Environment.variable(name, in: environment) }
        guard options.url == nil || options.cluster == nil else {
            throw ValidationError("--url and --cluster exclude each other. Leave out one of them.")
        }
        if let url = options.url {
            try self.init(url: url)
        } else if let cluster = options.cluster {
            try self.init(cluster: cluster)
        } else if variable("PUSHER_HOST") == nil, let cluster = variable("PUSHER_APP_CLUSTER") {
            try self.init(cluster: cluster)
        } else {
            try self.init(
                host: variable("PUSHER_HOST"),
                port: variable("PUSHER_PORT"),
                scheme: variable("PUSHER_SCHEME")
            )
        }
        application.id = options.appID ?? variable("PUSHER_APP_ID") ?? application.id
        application.key = options.key ?? variable("PUSHER_APP_KEY") ?? application.key
        application.secret = options.secret ?? variable("PUSHER_APP_SECRET") ?? application.secret
        application.encryptionMasterKey =
            options.encryptionKey ?? variable("PUSHER_ENCRYPTION_MASTER_KEY") ?? application.encryptionMasterKey
        do {
            try makeAPI(timeLimit: .seconds(1)).shutdown()
        } catch {
            throw ValidationError(error.message)
        }
    }

    private init(host: String, port: Int, path: String? = nil, useTLS: Bool, apiHost: String? = nil) {
        self.host = host
        self.port = port
        self.path = path
        self.useTLS = useTLS
        self.apiHost = apiHost ?? host
        let defaults = PusherTestServer.Application()
        application = .init(id: defaults.id, key: defaults.key, secret: defaults.secret)
        // This key is public, so the tool uses it only with servers of this machine, such as pusher serve on any port.
        if HostRule.isLoopback(host) {
            application.encryptionMasterKey = PusherTestServer.Options.testEncryptionMasterKey
        }
    }

    private init(cluster: String) throws {
        if let fault = ClusterName.fault(of: cluster) { throw ValidationError(fault) }
        guard cluster.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || $0.isAlphanumeric }) else {
            throw ValidationError(
                "Invalid cluster \(cluster.quoted): use letters, digits and hyphens."
            )
        }
        self.init(
            host: PusherEndpoint.pusher(cluster: cluster).host,
            port: 443,
            useTLS: true,
            apiHost: PusherServerAPI.Endpoint.pusher(cluster: cluster).host
        )
    }

    private init(host: String?, port: String?, scheme: String?) throws {
        let useTLS = try scheme.map { try Self.usesTLS($0, from: "PUSHER_SCHEME") } ?? (host != nil)
        let number: Int? = try port.map { text in
            guard let number = Int(text) else {
                throw ValidationError("PUSHER_PORT is \(text.quoted), which is not a number.")
            }
            return number
        }
        self.init(
            host: host ?? "127.0.0.1",
            port: number ?? (host == nil ? 6_001 : useTLS ? 443 : 80),
            useTLS: useTLS
        )
        assumesTLS = host != nil && scheme == nil
    }

    private init(url text: String) throws {
        guard let url = URLComponents(string: text), let scheme = url.scheme, let host = url.host, !host.isEmpty else {
            throw ValidationError("--url takes an address such as ws://127.0.0.1:6001 or wss://example.com/path.")
        }
        guard url.user == nil, url.password == nil, url.query == nil, url.fragment == nil else {
            throw ValidationError("--url takes scheme, host, port and path only.")
        }
        let useTLS = try Self.usesTLS(scheme, from: "--url")
        self.init(
            host: host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host,
            port: url.port ?? (useTLS ? 443 : 80),
            path: url.path.isEmpty || url.path == "/" ? nil : url.path,
            useTLS: useTLS
        )
    }

    private static func usesTLS(_ scheme: String, from name: String) throws -> Bool {
        switch scheme.lowercased() {
        case "wss", "https": return true
        case "ws", "http": return false
        default: throw ValidationError("\(name) has the scheme \(scheme.quoted): use ws or wss.")
        }
    }

    /// The server's URL, for messages.
    var address: String {
        "\(useTLS ? "wss" : "ws")://\(host.contains(":") ? "[\(host)]" : host):\(port)\(path ?? "")"
    }

    /// A sentence for the message about a failed connection; empty if the app has chosen between TLS and no TLS.
    var schemeAdvice: String {
        assumesTLS
            ? " PUSHER_SCHEME is not set, so the tool uses TLS: set it to http if the server does not use TLS." : ""
    }

    func makeAPI(timeLimit: Duration) throws(PusherServerAPIError) -> PusherServerAPI {
        var options = PusherServerAPI.Options()
        options.timeout = timeLimit
        // Do not limit the data, because some servers accept more than the hosted service. Each server refuses data
        // that is too large.
        options.limits.eventDataSize = .max
        options.logger = .silent
        return try PusherServerAPI(
            application: application,
            endpoint: .init(host: apiHost, port: port, path: path, useTLS: useTLS),
            options: options
        )
    }
}

/// The environment variables of the tool.
enum Environment {
    /// Returns the value of a variable. Ignores empty variables, because settings files often contain variables without
    /// a value.
    static func variable(
        _ name: String,
        in environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
