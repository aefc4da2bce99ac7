import Foundation
import PusherClient

/// The program for the section "Configuration" of PusherSwift's documentation: uses options of every kind.
class ConfigurationProgram {
    let pusher: Pusher

    init(_ settings: Settings) {
        let options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: settings.authEndpoint),
            autoReconnect: false,
            host: .host(settings.host),
            port: settings.port,
            path: "/realtime",
            useTLS: false,
            activityTimeout: 25
        )
        pusher = Pusher(key: settings.key, options: options)
    }

    func start() {
        pusher.connect()
    }

    static func clusterURL() -> String {
        let options = PusherClientOptions(
            host: .cluster("eu")
        )
        return Pusher(key: "APP_KEY", options: options).connection.url
    }

    static func defaultURL() -> String {
        let pusher = Pusher(key: "APP_KEY")
        return pusher.connection.url
    }

    static func plainURL() -> String {
        return Pusher(key: "APP_KEY", options: PusherClientOptions(useTLS: false)).connection.url
    }
}
