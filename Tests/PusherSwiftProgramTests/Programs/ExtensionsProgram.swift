import Foundation
import PusherClient

// Extensions that apps may have for the library's classes.

extension PusherEvent {
    var json: [String: Any]? {
        guard let data = data?.data(using: .utf8) else { return nil }
        return (try? JSONSerialization.jsonObject(with: data)) as? [String: Any]
    }
}

extension PusherChannel {
    @discardableResult
    func onMessage(_ name: String, _ body: @escaping ([String: Any]) -> Void) -> String {
        return bind(
            eventName: name,
            eventCallback: { event in
                if let json = event.json { body(json) }
            }
        )
    }
}

extension Pusher {
    static func make(_ settings: Settings) -> Pusher {
        let options = PusherClientOptions(host: .host(settings.host), port: settings.port, useTLS: false)
        return Pusher(key: settings.key, options: options)
    }

    var isConnected: Bool { return connection.connectionState == .connected }
}

extension PusherPresenceChannelMember {
    var displayName: String { return (userInfo as? [String: Any])?["name"] as? String ?? userId }
}

extension ConnectionState {
    var title: String { return stringValue().uppercased() }
}

/// A typical service for a whole app, with its own lists of closures.
class PusherService {
    static var shared: PusherService?

    private let pusher: Pusher
    private var handlers: [String: ([String: Any]) -> Void] = [:]
    private var subscriptions: [String: PusherChannel] = [:]
    private(set) var received = 0

    init(_ settings: Settings) {
        pusher = Pusher.make(settings)
    }

    func listen(to channelName: String, handler: @escaping ([String: Any]) -> Void) {
        handlers[channelName] = handler
        let channel = subscriptions[channelName] ?? pusher.subscribe(channelName)
        subscriptions[channelName] = channel
        channel.onMessage("message") { [weak self] json in
            guard let self = self else { return }
            self.received += 1
            self.handlers[channelName]?(json)
        }
    }

    func start() { pusher.connect() }
    func stop() { pusher.disconnect() }
    var state: String { return pusher.connection.connectionState.title }
}
