import Foundation
import PusherClient

/// The program for the section "Reconnection" of PusherSwift's documentation: sets the properties for reconnecting.
class ReconnectionProgram: PusherDelegate {
    lazy var pusher: Pusher = Pusher(
        key: settings.key,
        options: PusherClientOptions(host: .host(settings.host), port: settings.port, useTLS: false)
    )
    let settings: Settings
    let say: (String) -> Void
    var connections = 0

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.settings = settings
        self.say = say
    }

    func start() {
        pusher.connection.delegate = self
        pusher.connection.reconnectAttemptsMax = 10
        pusher.connection.maxReconnectGapInSeconds = 0.01
        pusher.connection.activityTimeoutInterval = 30
        pusher.connection.pongResponseTimeoutInterval = 5
        pusher.connection.reconnectAttempts = 0
        pusher.connect()
    }

    func giveUp() {
        pusher.connection.reconnectAttemptsMax = 0
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        if new == .connected {
            connections += 1
            say("connected \(connections)")
        } else {
            say(new.stringValue())
        }
    }
}
