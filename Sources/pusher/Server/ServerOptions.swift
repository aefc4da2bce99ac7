import ArgumentParser
import Foundation

/// The options of all commands for the server and the application.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server. Default: PUSHER_SCHEME, PUSHER_HOST and PUSHER_PORT, or ws://127.0.0.1:6001 like pusher serve.",
            valueName: "ws(s)://host:port/path"
        )
    )
    var url: String?

    @Option(help: "A cluster of the hosted service, such as eu, instead of --url. Default: PUSHER_APP_CLUSTER.")
    var cluster: String?

    @Option(help: "The application's id. Default: PUSHER_APP_ID, or 1.")
    var appID: String?

    @Option(help: "The application's key. Default: PUSHER_APP_KEY, or app-key.")
    var key: String?

    @Option(help: "The application's secret. Default: PUSHER_APP_SECRET, or app-secret.")
    var secret: String?

    @Option(
        help: ArgumentHelp(
            "The master key of encrypted channels. Default: PUSHER_ENCRYPTION_MASTER_KEY, or on this machine the default key of pusher serve.",
            valueName: "base64"
        )
    )
    var encryptionKey: String?

    @Option(
        help: ArgumentHelp(
            "The timeout for the first connection, a subscription, or a request.",
            valueName: "seconds"
        )
    )
    var timeout: Double = 15

    func validate() throws {
        guard timeout > 0, timeout <= 86_400 else {
            throw ValidationError("--timeout takes a number of seconds, up to 86400.")
        }
        _ = try server
    }

    var server: Server {
        get throws { try Server(self, environment: ProcessInfo.processInfo.environment) }
    }

    var timeLimit: Duration { .seconds(timeout) }
}
