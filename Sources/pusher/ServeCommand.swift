import ArgumentParser
import Foundation
import NIOCore
import PusherEncryption
import PusherTestServer
import RealtimeTestHTTP

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the test server during the development or the tests of an app.",
        usage: "pusher serve [options]",
        discussion: """
            Serves the Pusher Channels protocol over WebSocket. The REST API and the authorization endpoints \
            use the same port. The authorization endpoints authorize everybody, so the server is only for development \
            and tests. The server does not store data.

            The console is a web page that shows connections, channels and events as they happen, publishes events, and \
            causes faults. Other web pages cannot use the console.

            Prints the settings for clients and backends, such as the port, in one line each, and then the line "ready". \
            SIGINT (Control-C) and SIGTERM end the server with exit code 0. If the output is a closed pipe, the server ends \
            when it prints the next line, with exit code 141.
            """
    )

    @Option(
        help: "The address to listen on. Everyone who can reach the address can use the server. (default: 127.0.0.1)"
    )
    var host: String?

    @Option(help: "The port to listen on; 0 for any free port. (default: 6001)")
    var port: Int?

    @Option(help: "The application's id. (default: 1)")
    var appID: String?

    @Option(help: "The application's key. (default: app-key)")
    var key: String?

    @Option(help: "The application's secret. (default: app-secret)")
    var secret: String?

    @Option(
        help: ArgumentHelp(
            """
            A further application with its own channels and connections. Can be repeated. --webhook, --encryption-key, \
            --subscription-counts and --no-client-events concern only the first application; --config has them for each.
            """,
            valueName: "id:key:secret"
        )
    )
    var app: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The master key of encrypted channels, which your backend must use too. Default: PUSHER_ENCRYPTION_MASTER_KEY, \
            or a public key for tests.
            """,
            valueName: "base64"
        )
    )
    var encryptionKey: String?

    @Option(help: ArgumentHelp("The URL to which the server posts signed webhooks.", valueName: "url"))
    var webhook: String?

    @Flag(help: "Tell subscribers the number of subscribers of their channels.")
    var subscriptionCounts = false

    @Flag(help: "Reject client events.")
    var noClientEvents = false

    @Option(
        help: ArgumentHelp(
            "A certificate chain in PEM form, for TLS on --tls-port. The server stays available without TLS on --port.",
            valueName: "file"
        )
    )
    var tlsCert: String?

    @Option(help: ArgumentHelp("The certificate's private key in PEM form.", valueName: "file"))
    var tlsKey: String?

    @Option(help: "The port for TLS; 0 for any free port. (default: 6443)")
    var tlsPort: Int?

    @Option(
        help: ArgumentHelp(
            """
            A JSON file with options. The other options replace those of the file, and --app, --allow-origin and \
            --allow-host add to them. Docs/CommandLineTool.md lists the members.
            """,
            valueName: "file"
        )
    )
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The server whose messages the test server imitates: \(ServerDialect.allCases.map(\.rawValue).joined(separator: ", ")). (default: pusher)",
            valueName: "name"
        )
    )
    var dialect: ServerDialect?

    @Option(help: "The number of seconds without a message after which clients should send a ping. (default: 120)")
    var activityTimeout: Int?

    @Option(
        help: ArgumentHelp(
            """
            A web page's origin, such as https://app.example.test, that may use the server. Can be repeated. Pages of this \
            machine are always allowed. The server refuses connections and requests of all other pages with status 403.
            """,
            valueName: "origin"
        )
    )
    var allowOrigin: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            A name that clients may use for this machine, such as host.docker.internal. Can be repeated. The server \
            refuses requests for other names than localhost with status 403. IP addresses are always allowed. If other \
            machines can reach --host, all names are allowed.
            """,
            valueName: "name"
        )
    )
    var allowHost: [String] = []

    @Flag(help: "Print one line for each action of a client or a backend.")
    var verbose = false

    @Flag(
        inversion: .prefixedNo,
        help: ArgumentHelp(
            """
            Serve the console on the next port, or on any free port if the next port is in use. (default: only if other \
            machines cannot reach --host)
            """
        )
    )
    var console: Bool?

    @OptionGroup var replay: ReplayOptions

    func validate() throws {
        let options = try options
        guard (0...65_535).contains(options.port) else {
            throw ValidationError("--port takes a number from 0 to 65535.")
        }
        guard (0...65_535).contains(options.tlsPort ?? 0) else {
            throw ValidationError("--tls-port takes a number from 0 to 65535.")
        }
        guard options.activityTimeout ?? 1 > 0 else {
            throw ValidationError("--activity-timeout takes a number of seconds greater than 0.")
        }
        var names: Set<String> = []
        for app in [options] + options.apps {
            guard names.insert("id " + app.application.id).inserted, names.insert(app.application.key).inserted else {
                throw ValidationError(
                    "Two applications have the id \"\(app.application.id)\" or the key \"\(app.application.key)\". Give each its own."
                )
            }
            // The keys of the options and of the file were checked with their applications.
            guard SecretKey(base64: app.encryptionMasterKey) != nil else {
                throw ServeConfiguration.App.invalidKey("PUSHER_ENCRYPTION_MASTER_KEY")
            }
        }
        guard console != true || HostRule.isLoopback(options.host) else {
            throw ValidationError(
                "--console cannot be used with --host \(options.host): other machines could use the console. Leave out one of the options."
            )
        }
    }

    /// The options of the server: those of the command line, else those of the file, else the defaults.
    private var options: PusherTestServer.Options {
        get throws {
            let file = try config.map(ServeConfiguration.init(file:)) ?? ServeConfiguration()
            var options = PusherTestServer.Options()
            options.port = 6001
            if let key = Environment.variable("PUSHER_ENCRYPTION_MASTER_KEY") { options.encryptionMasterKey = key }
            options.host = host ?? file.host ?? options.host
            options.port = port ?? file.port ?? options.port
            options.dialect = (dialect ?? file.dialect ?? .pusher).dialect
            options.activityTimeout = activityTimeout ?? file.activityTimeout ?? options.activityTimeout
            // As on real servers. The default of the options is for tests on busy machines.
            options.httpTransports.disconnectDelay = .seconds(5)
            options.allowedOrigins = Set(file.allowedOrigins + allowOrigin)
            options.allowedHosts = Set(file.allowedHosts + allowHost)
            // The server may run for days and does not need old records.
            options.maximumRecordCount = 10_000
            let defaults = options
            let further = Array(file.apps.dropFirst()) + (try app.map(ServeConfiguration.App.init(argument:)))
            options.apps = try further.map { app in
                var options = defaults
                try app.apply(to: &options)
                return options
            }
            try file.apps.first?.apply(to: &options)
            try commandLineApp.apply(to: &options)
            try addTLS(file.tls, to: &options)
            return options
        }
    }

    /// The options of the command line for the first application.
    private var commandLineApp: ServeConfiguration.App {
        var app = ServeConfiguration.App()
        (app.id, app.key, app.secret) = (appID, key, secret)
        (app.webhook, app.encryptionKey) = (webhook, encryptionKey)
        app.subscriptionCounts = subscriptionCounts ? true : nil
        app.clientEvents = noClientEvents ? false : nil
        return app
    }

    private func addTLS(_ tls: ServeConfiguration.TLS?, to options: inout PusherTestServer.Options) throws {
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key belong together. Give both.")
        }
        guard let certificate = tlsCert ?? tls?.certificate, let key = tlsKey ?? tls?.key else {
            if tlsPort != nil { throw ValidationError("--tls-port needs --tls-cert and --tls-key.") }
            return
        }
        func read(_ path: String) throws -> String {
            guard let data = FileManager.default.contents(atPath: path) else {
                throw ValidationError("TLS: the file \"\(path)\" cannot be read.")
            }
            return String(decoding: data, as: UTF8.self)
        }
        options.tls = .init(certificateChain: try read(certificate), privateKey: try read(key))
        options.tlsPort = tlsPort ?? tls?.port ?? (options.port == 0 ? 0 : 6443)
    }

    func run() async throws {
        let options = try options
        let recording = try replay.recording()
        // Handle signals before the server prints "ready", because a script may stop the server right after that line.
        let interruption = Interruption()
        do {
            try await PusherTestServer.withServer(options: options) { server in
                try await serve(server, replaying: recording, until: interruption.received)
            }
        } catch let error as PusherTestServer.ServerError where error.code == .bindFailed {
            throw ExitMessage(describe(error, options))
        } catch let error as PusherTestServer.ServerError {
            throw ExitMessage(error.message)
        }
        withExtendedLifetime(interruption) {}
    }

    private func serve(
        _ server: PusherTestServer,
        replaying recording: PusherTestServer.Recording?,
        until signals: AsyncStream<Void>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if console ?? HostRule.isLoopback(server.host) {
                group.addTask {
                    try await ConsoleServer(server).run { url in try announce(server, console: url) }
                }
            } else {
                try announce(server, console: nil)
            }
            if verbose {
                group.addTask { for await record in server.recordSequence { try printLine(describe(record)) } }
            }
            if let recording { group.addTask { try await replay.play(recording, on: server) } }
            group.addTask { for await _ in signals { return } }
            // Wait for a signal, or until a task fails because nobody reads the output anymore.
            try await group.next()
            group.cancelAll()
        }
    }

    private func announce(_ server: PusherTestServer, console: String?) throws {
        let application = server.options.application
        let place = server.url.replacing("http://", with: "")
        try printLine("host      \(server.host)")
        try printLine("port      \(server.port)")
        try printLine("app id    \(application.id)")
        try printLine("key       \(application.key)")
        try printLine("secret    \(application.secret)")
        try printLine("encryption key \(server.options.encryptionMasterKey)")
        try printLine("websocket ws://\(place)/app/\(application.key)")
        try printLine("rest      \(server.url)/apps/\(application.id)/events")
        try printLine("auth      \(server.url)/pusher/auth")
        try printLine("user auth \(server.url)/pusher/user-auth")
        if let port = server.tlsPort {
            try printLine("tls port  \(port)")
            // The host of an IPv6 address has brackets there.
            let host = place.dropLast(":\(server.port)".count)
            try printLine("websocket wss://\(host):\(port)/app/\(application.key)")
        }
        for app in server.apps.map(\.options.application) {
            try printLine("app       \(app.id):\(app.key):\(app.secret)")
        }
        if let url = server.options.webhookURL { try printLine("webhooks  \(url)") }
        if let console { try printLine("console   \(console)") }
        try printLine("ready")
    }

    private func describe(_ record: PusherTestServer.Record) -> String {
        "\(Date.now.formatted(Self.timeOfDay))  \(RecordDescription(record).line)"
    }

    /// The format of the time of day with milliseconds, in this machine's time zone.
    private static let timeOfDay = Date.VerbatimFormatStyle(
        format: """
            \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\
            \(second: .twoDigits).\(secondFraction: .fractional(3))
            """,
        timeZone: .current,
        calendar: Calendar(identifier: .gregorian)
    )

    private func describe(_ error: PusherTestServer.ServerError, _ options: PusherTestServer.Options) -> String {
        let reason = (error.cause as? IOError).map { String(cString: strerror($0.errnoCode)) }
        if (error.cause as? IOError)?.errnoCode == EADDRINUSE {
            if options.tlsPort != nil {
                return "A port is in use. \(error.message) The options are --port and --tls-port."
            }
            return
                "Port \(options.port) is in use. Try --port 0 for a free port, or stop the program that uses the port."
        }
        return
            "Cannot listen on \(options.host), port \(options.port): \(reason ?? "it is not an address of this machine"). Try --host 127.0.0.1."
    }
}

func printLine(_ text: String) throws { try StandardOutput.print("\(text)\n") }

/// The names of the test server's presets.
enum ServerDialect: String, CaseIterable, ExpressibleByArgument, Sendable {
    case pusher, soketi, reverb, pylon, ipe, poxa, slanger
    case pusherFake = "pusher-fake"

    var dialect: PusherTestServer.Dialect {
        switch self {
        case .pusher: .pusher
        case .soketi: .soketi
        case .reverb: .reverb
        case .pylon: .pylon
        case .ipe: .ipe
        case .poxa: .poxa
        case .slanger: .slanger
        case .pusherFake: .pusherFake
        }
    }
}
