import ArgumentParser
import Foundation
import PusherEncryption
import PusherProtocol
import PusherTestServer
import RealtimePrimitives

/// What `pusher serve --config` reads from a file.
struct ServeConfiguration: Sendable {
    /// The certificate and its key, as paths of files.
    struct TLS: Sendable {
        var port: Int?
        var certificate: String
        var key: String
    }

    /// An application and its options. Missing values have the defaults of the test server.
    struct App: Sendable {
        var id: String?
        var key: String?
        var secret: String?
        var webhook: String?
        var encryptionKey: String?
        var subscriptionCounts: Bool?
        var clientEvents: Bool?
        var clientEventsPerSecond: Int?
        var maximumEventDataSize: Int?
        var source = Source.options
    }

    /// The place of an application's values, for errors.
    enum Source: Sendable {
        case options
        /// The value of `--app`.
        case argument
        /// An object of the file.
        case file(String)

        func name(option: String, member: String) -> String {
            switch self {
            case .options: option
            case .argument: "--app"
            case .file(let place): "--config: \"\(member)\" in \(place)"
            }
        }
    }

    var host: String?
    var port: Int?
    var tls: TLS?
    var dialect: ServerDialect?
    var activityTimeout: Int?
    var allowedOrigins: [String] = []
    var allowedHosts: [String] = []
    /// The first is the application that the options of the command line change.
    var apps: [App] = []

    init() {}

    /// Reads a file.
    ///
    /// - Throws: `ValidationError` if the file cannot be read, or has an unknown or unsuitable member.
    init(file path: String) throws {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw ValidationError("--config: the file \"\(path)\" cannot be read.")
        }
        guard let value = JSONValue(parsing: String(decoding: data, as: UTF8.self)) else {
            throw ValidationError("--config: \(path) is not JSON.")
        }
        let root = try Members(
            value,
            at: path,
            known: ["host", "port", "tls", "dialect", "activityTimeout", "allowedOrigins", "allowedHosts", "apps"]
        )
        host = try root.string("host")
        port = try root.integer("port", in: 0...65_535)
        activityTimeout = try root.integer("activityTimeout", in: 1...86_400)
        allowedOrigins = try root.strings("allowedOrigins")
        allowedHosts = try root.strings("allowedHosts")
        if let name = try root.string("dialect") {
            guard let dialect = ServerDialect(rawValue: name) else {
                let names = ServerDialect.allCases.map(\.rawValue).joined(separator: ", ")
                throw root.error("dialect", "is one of \(names)")
            }
            self.dialect = dialect
        }
        if let tls = try root.object("tls", known: ["port", "certificate", "key"]) {
            let folder = URL(filePath: path).deletingLastPathComponent()
            let file = { (name: String) in
                URL(filePath: try tls.required(name), relativeTo: folder).path(percentEncoded: false)
            }
            self.tls = TLS(
                port: try tls.integer("port", in: 0...65_535),
                certificate: try file("certificate"),
                key: try file("key")
            )
        }
        apps = try root.objects("apps", known: App.names).map(App.init)
    }

    /// The members of an object, with the place of the object for errors.
    fileprivate struct Members {
        let place: String
        private let members: WireTable<JSONValue>

        init(_ value: JSONValue, at place: String, known: [String]) throws {
            guard let members = value.object else { throw ValidationError("--config: \(place) is not a JSON object.") }
            self.place = place
            self.members = members
            for name in members.keys where !known.contains(name) {
                let names = known.joined(separator: ", ")
                throw ValidationError(
                    "--config: unknown member \"\(name.escapingControls)\" in \(place). The members are \(names)."
                )
            }
        }

        func error(_ name: String, _ rule: String) -> ValidationError {
            ValidationError("--config: \"\(name)\" in \(place) \(rule).")
        }

        func string(_ name: String) throws -> String? {
            guard let value = members[name] else { return nil }
            guard let text = value.string else { throw error(name, "is a string") }
            return text
        }

        func required(_ name: String) throws -> String {
            guard let text = try string(name) else { throw error(name, "is missing") }
            return text
        }

        func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
            guard let value = members[name] else { return nil }
            guard case .integer(let number) = value, range.contains(number) else {
                throw error(name, "is a number from \(range.lowerBound) to \(range.upperBound)")
            }
            return number
        }

        func bool(_ name: String) throws -> Bool? {
            guard let value = members[name] else { return nil }
            guard case .bool(let isTrue) = value else { throw error(name, "is true or false") }
            return isTrue
        }

        func strings(_ name: String) throws -> [String] {
            guard let value = members[name] else { return [] }
            let texts = value.array?.compactMap(\.string)
            guard let texts, texts.count == value.array?.count else { throw error(name, "is an array of strings") }
            return texts
        }

        func object(_ name: String, known: [String]) throws -> Members? {
            try members[name].map { try Members($0, at: "\(name) of \(place)", known: known) }
        }

        func objects(_ name: String, known: [String]) throws -> [Members] {
            guard let value = members[name] else { return [] }
            guard let values = value.array else { throw error(name, "is an array of objects") }
            return try values.enumerated().map { index, value in
                try Members(value, at: "\(name)[\(index)] of \(place)", known: known)
            }
        }
    }
}

extension ServeConfiguration.App {
    fileprivate static let names = [
        "id", "key", "secret", "webhook", "encryptionKey", "subscriptionCounts", "clientEvents",
        "clientEventsPerSecond", "maximumEventDataSize",
    ]

    fileprivate init(_ members: ServeConfiguration.Members) throws {
        source = .file(members.place)
        id = try members.string("id")
        key = try members.string("key")
        secret = try members.string("secret")
        webhook = try members.string("webhook")
        encryptionKey = try members.string("encryptionKey")
        subscriptionCounts = try members.bool("subscriptionCounts")
        clientEvents = try members.bool("clientEvents")
        clientEventsPerSecond = try members.integer("clientEventsPerSecond", in: 0...1_000_000)
        maximumEventDataSize = try members.integer("maximumEventDataSize", in: 0...100_000_000)
    }

    /// Reads `id:key:secret`.
    init(argument: String) throws {
        let parts = argument.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts.allSatisfy({ !$0.isEmpty }) else {
            throw ValidationError("--app takes id:key:secret.")
        }
        source = .argument
        (id, key, secret) = (parts[0], parts[1], parts[2])
    }

    private func validate() throws {
        if let key, key.isEmpty || !key.utf8.allSatisfy(Self.isUnreserved) {
            let name = source.name(option: "--key", member: "key")
            throw ValidationError("\(name) takes only letters, digits, and -._~.")
        }
        if let encryptionKey, SecretKey(base64: encryptionKey) == nil {
            throw Self.invalidKey(source.name(option: "--encryption-key", member: "encryptionKey"))
        }
        if let webhook {
            let url = URL(string: webhook)
            guard ["http", "https"].contains(url?.scheme?.lowercased()), url?.host()?.isEmpty == false else {
                let name = source.name(option: "--webhook", member: "webhook")
                throw ValidationError("\(name) takes a URL such as http://localhost:8000/webhooks.")
            }
        }
    }

    static func invalidKey(_ name: String) -> ValidationError {
        ValidationError("\(name) takes the base64 of 32 bytes. Make a key with openssl rand -base64 32.")
    }

    /// Returns whether a path may contain the byte without an escape (RFC 3986, 2.3).
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~".utf8.contains(byte)
        }
    }

    /// Checks the values, and applies them to options. A missing value leaves the option.
    func apply(to options: inout PusherTestServer.Options) throws {
        try validate()
        options.application.id = id ?? options.application.id
        options.application.key = key ?? options.application.key
        options.application.secret = secret ?? options.application.secret
        options.webhookURL = webhook ?? options.webhookURL
        options.encryptionMasterKey = encryptionKey ?? options.encryptionMasterKey
        options.sendsSubscriptionCounts = subscriptionCounts ?? options.sendsSubscriptionCounts
        options.acceptsClientEvents = clientEvents ?? options.acceptsClientEvents
        options.clientEventsPerSecond = clientEventsPerSecond ?? options.clientEventsPerSecond
        options.maximumEventDataSize = maximumEventDataSize ?? options.maximumEventDataSize
    }
}
