import Foundation
import PusherClient

/// The program for the section "Subscribing" of PusherSwift's documentation: subscribes in every form, before and after
/// connecting.
class SubscribingProgram: PusherDelegate {
    let pusher: Pusher
    let say: (String) -> Void
    private(set) var channels: [PusherChannel] = []

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.say = say
        pusher = Pusher(
            key: settings.key,
            options: PusherClientOptions(
                authMethod: .endpoint(authEndpoint: settings.authEndpoint),
                host: .host(settings.host),
                port: settings.port,
                useTLS: false
            )
        )
        pusher.delegate = self
    }

    func start() {
        let myChannel = pusher.subscribe("my-channel")
        let myPrivateChannel = pusher.subscribe("private-my-channel")
        let myEncryptedChannel = pusher.subscribe("private-encrypted-my-channel")
        let myCacheChannel = pusher.subscribe("cache-my-channel")
        let labelled = pusher.subscribe(channelName: "labelled")
        let myPresenceChannel = pusher.subscribeToPresenceChannel(channelName: "presence-my-channel")
        channels = [myChannel, myPrivateChannel, myEncryptedChannel, myCacheChannel, labelled, myPresenceChannel]

        let counted = pusher.subscribe(
            "counted",
            onSubscriptionCountChanged: { count in
                self.say("count \(count)")
            }
        )
        channels.append(counted)
        pusher.connect()
    }

    /// Subscribes with a signature that the app already has.
    func subscribe(to channelName: String, auth: String, channelData: String?) {
        let pusherAuth = PusherAuth(auth: auth, channelData: channelData)
        channels.append(pusher.subscribe(channelName, auth: pusherAuth))
    }

    func leave() {
        pusher.unsubscribe("my-channel")
    }

    func leaveAll() {
        pusher.unsubscribeAll()
    }

    func subscribedToChannel(name: String) {
        say("subscribed to \(name)")
    }

    func describe(_ channel: PusherChannel) -> String {
        switch channel.type {
        case .private: return "private"
        case .presence: return "presence"
        case .normal: return "normal"
        }
    }
}
