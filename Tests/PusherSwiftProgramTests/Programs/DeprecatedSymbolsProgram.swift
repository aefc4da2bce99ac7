import Foundation
import PusherClient

/// Uses deprecated symbols of PusherSwift. The class itself is deprecated, so the compiler gives no warnings for the
/// symbols.
@available(*, deprecated)
class DeprecatedSymbolsProgram: PusherDelegate {
    let say: (String) -> Void
    var errors = 0
    weak var connection: PusherConnection?

    init(say: @escaping (String) -> Void) {
        self.say = say
    }

    func receivedError(error: PusherError) {
        let code: NSNumber? = error.codeOC
        say("error \(code?.intValue ?? -1) \(error.message)")
        guard errors == 0 else { return }
        errors += 1
        connection?.handleError(error: error)
    }

    func start(_ settings: Settings) -> Pusher {
        let options = PusherClientOptions(
            authMethod: .noMethod,
            attemptToReturnJSONObject: false,
            autoReconnect: true,
            host: .host(settings.host),
            port: settings.port,
            path: nil,
            useTLS: false,
            activityTimeout: nil
        )
        say("returns objects: \(options.attemptToReturnJSONObject) \(PusherClientOptions().attemptToReturnJSONObject)")
        let pusher = Pusher(withAppKey: settings.key, options: options)
        pusher.delegate = self
        connection = pusher.connection
        pusher.connection.OCReconnectAttemptsMax = 3
        pusher.connection.OCMaxReconnectGapInSeconds = 7
        say("\(pusher.connection.reconnectAttemptsMax ?? 0) \(pusher.connection.maxReconnectGapInSeconds ?? 0)")
        let attempts: NSNumber? = pusher.connection.OCReconnectAttemptsMax
        let gap: NSNumber? = pusher.connection.OCMaxReconnectGapInSeconds
        say("\(attempts?.intValue ?? 0) \(gap?.intValue ?? 0)")
        say(Pusher(withKey: settings.key).connection.url)
        useDetachedChannel(pusher.connection)

        let channel = pusher.subscribe("my-channel")
        var count = 0
        channel.bind(eventName: "first") { event in
            count += 1
            self.say("first \(count) \(event.data ?? "nil")")
            guard count == 1 else { return }
            channel.handleEvent(event: event)
            pusher.connection.handleEvent(event: event)
        }
        pusher.connect()
        return pusher
    }

    private func useDetachedChannel(_ connection: PusherConnection) {
        let auth = PusherAuth(auth: "x")
        let channel = PusherChannel(name: "a", connection: connection, auth: auth, onSubscriptionCountChanged: { _ in })
        let other = PusherChannel(name: "private-b", connection: connection)
        say("detached: \(channel.subscribed) \(channel.name) \(other.type == .private)")
    }
}
