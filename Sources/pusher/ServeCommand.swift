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
            Serves the Pusher Channels protocol over WebSocket without TLS. The REST API and the authorization endpoints \
            use the same port. The authorization endpoints authorize everybody, so the server is only for development \
            and tests. The server does not store data.

            The console is a web page that shows connections, channels and events as they happen, publishes events, and \
            causes faults. Other web pages cannot use the console.

            Prints the settings for clients and backends, such as the port, in one line each, and then the line "ready". \
            SIGINT (Control-C) and SIGTERM end the server with exit code 0. If the output is a closed pipe, the server ends \
            when it prints the next line, with exit code 141.
            """
    )

    @Option(help: "The address to listen on. Everyone who can reach the address can use the server.")
    var host = "127.0.0.1"

    @Option(help: "The port to listen on; 0 for any free port.")
    var port = 6001

    @Option(help: "The application's id.")
    var appID = "1"

    @Option(help: "The application's key.")
    var key = "app-key"

    @Option(help: "The application's secret.")
    var secret = "app-secret"

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

    private var masterKey: String {
        encryptionKey ?? Environment.variable("PUSHER_ENCRYPTION_MASTER_KEY")
            ?? PusherTestServer.Options.testEncryptionMasterKey
    }

    @Option(
        help: ArgumentHelp(
            "The server whose messages the test server imitates: \(ServerDialect.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "name"
        )
    )
    var dialect = ServerDialect.pusher

    @Option(help: "The number of seconds without a message after which clients should send a ping.")
    var activityTimeout = 120

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

    private var servesConsole: Bool { console ?? HostRule.isLoopback(host) }

    func validate() throws {
        guard (0...65_535).contains(port) else { throw ValidationError("--port takes a number from 0 to 65535.") }
        guard activityTimeout > 0 else {
            throw ValidationError("--activity-timeout takes a number of seconds greater than 0.")
        }
        guard !key.isEmpty, key.utf8.allSatisfy(Self.isUnreserved) else {
            throw ValidationError("--key takes only letters, digits, and -._~.")
        }
        guard SecretKey(base64: masterKey) != nil else {
            let source = encryptionKey == nil ? "PUSHER_ENCRYPTION_MASTER_KEY" : "--encryption-key"
            throw ValidationError("\(source) takes the base64 of 32 bytes. Make a key with openssl rand -base64 32.")
        }
        guard console != true || HostRule.isLoopback(host) else {
            throw ValidationError(
                "--console cannot be used with --host \(host): other machines could use the console. Leave out one of the options."
            )
        }
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

    func run() async throws {
        var options = PusherTestServer.Options()
        options.application = .init(id: appID, key: key, secret: secret)
        options.encryptionMasterKey = masterKey
        options.host = host
        options.port = port
        options.dialect = dialect.dialect
        options.activityTimeout = activityTimeout
        // As on real servers. The default of the options is for tests on busy machines.
        options.httpTransports.disconnectDelay = .seconds(5)
        options.allowedOrigins = Set(allowOrigin)
        options.allowedHosts = Set(allowHost)
        // The server may run for days and does not need old records.
        options.maximumRecordCount = 10_000
        let recording = try replay.recording()
        // Handle signals before the server prints "ready", because a script may stop the server right after that line.
        let interruption = Interruption()
        do {
            try await PusherTestServer.withServer(options: options) { server in
                try await serve(server, replaying: recording, until: interruption.received)
            }
        } catch let error as PusherTestServer.ServerError where error.code == .bindFailed {
            throw ExitMessage(describe(error))
        }
        withExtendedLifetime(interruption) {}
    }

    private func serve(
        _ server: PusherTestServer,
        replaying recording: PusherTestServer.Recording?,
        until signals: AsyncStream<Void>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            if servesConsole {
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
        let place = server.httpURL.replacing("http://", with: "")
        try printLine("host      \(server.host)")
        try printLine("port      \(server.port)")
        try printLine("app id    \(appID)")
        try printLine("key       \(key)")
        try printLine("secret    \(secret)")
        try printLine("encryption key \(masterKey)")
        try printLine("websocket ws://\(place)/app/\(key)")
        try printLine("rest      \(server.httpURL)/apps/\(appID)/events")
        try printLine("auth      \(server.httpURL)/pusher/auth")
        try printLine("user auth \(server.httpURL)/pusher/user-auth")
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

    private func describe(_ error: PusherTestServer.ServerError) -> String {
        let reason = (error.cause as? IOError).map { String(cString: strerror($0.errnoCode)) }
        if (error.cause as? IOError)?.errnoCode == EADDRINUSE {
            return "Port \(port) is in use. Try --port 0 for a free port, or stop the program that uses the port."
        }
        return
            "Cannot listen on \(host), port \(port): \(reason ?? "it is not an address of this machine"). Try --host 127.0.0.1."
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
