import Foundation
import PusherClient

/// The program for the section "Triggering client events" of PusherSwift's documentation: triggers events before and
/// after the channel is subscribed.
class TriggeringProgram: PusherDelegate {
    let pusher: Pusher
    let say: (String) -> Void
    let myPrivateChannel: PusherChannel
    let publicChannel: PusherChannel

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.say = say
        pusher = Pusher(
            key: settings.key,
            options: PusherClientOptions(
                authMethod: .inline(secret: settings.secret),
                host: .host(settings.host),
                port: settings.port,
                useTLS: false
            )
        )
        myPrivateChannel = pusher.subscribe("private-chat")
        publicChannel = pusher.subscribe("public-chat")
        pusher.connection.delegate = self
    }

    func start() {
        myPrivateChannel.trigger(eventName: "client-myEvent", data: ["foo": "bar"])
        let queued: [QueuedClientEvent] = myPrivateChannel.unsentEvents
        say("queued: \(queued.map { $0.name }) \(queued.first?.data as? [String: String] ?? [:])")
        pusher.connect()
    }

    func subscribedToChannel(name: String) {
        guard name == "private-chat" else { return }
        myPrivateChannel.trigger(eventName: "client-list", data: [1, 2, 3])
        myPrivateChannel.trigger(eventName: "client-text", data: "hello")
        publicChannel.trigger(eventName: "client-myEvent", data: ["foo": "bar"])
        pusher.connection.sendEvent(event: "client-direct", data: ["a": 1], channel: myPrivateChannel)
        pusher.connection.sendEvent(event: "custom:hello", data: ["b": true])
    }

    func receivedError(error: PusherError) {
        say(error.message)
    }
}
