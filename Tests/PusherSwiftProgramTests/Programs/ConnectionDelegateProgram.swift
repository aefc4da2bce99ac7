import Foundation
import PusherClient

/// The delegate for the section "Connection delegate" of PusherSwift's documentation, with every method.
class DummyDelegate: PusherDelegate {
    var logLines = 0
    let say: (String) -> Void

    init(say: @escaping (String) -> Void) {
        self.say = say
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        say("\(old.stringValue()) -> \(new.stringValue())")
        switch new {
        case .connecting, .connected, .disconnecting, .disconnected, .reconnecting:
            break
        }
    }

    func debugLog(message: String) {
        logLines += 1
    }

    func subscribedToChannel(name: String) {
        say("subscribed to \(name)")
    }

    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
        let status = (response as? HTTPURLResponse)?.statusCode
        say("failed to subscribe to \(name): \(status.map(String.init) ?? "-"), \(data ?? "-"), \(error != nil)")
    }

    func receivedError(error: PusherError) {
        if let code = error.code {
            say("error (\(code)): \(error.message)")
        } else {
            say("error: \(error.message)")
        }
    }

    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        say("cannot decrypt \(eventName) of \(channelName): \(data != nil)")
    }
}

/// A delegate with only one method.
class QuietDelegate: NSObject, PusherDelegate {
    let say: (String) -> Void

    init(say: @escaping (String) -> Void) {
        self.say = say
        super.init()
    }

    func receivedError(error: PusherError) { say("quiet: \(error.message)") }
}

class ConnectionDelegateProgram {
    let pusher: Pusher
    let delegate: DummyDelegate

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        delegate = DummyDelegate(say: say)
        pusher = Pusher(
            key: settings.key,
            options: PusherClientOptions(
                authMethod: .endpoint(authEndpoint: settings.authEndpoint),
                host: .host(settings.host),
                port: settings.port,
                useTLS: false
            )
        )
        pusher.delegate = delegate
        pusher.connection.delegate = delegate
    }
}
