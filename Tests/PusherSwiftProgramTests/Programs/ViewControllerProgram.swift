// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherClient

/// A replacement for UIKit's class. The class belongs to the main actor, and predates Swift concurrency.
@preconcurrency @MainActor
class UIViewController: NSObject {
    var title: String?

    func viewDidLoad() {}
}

/// A typical screen. The screen owns the client, is its delegate, and shows incoming events.
class ViewController: UIViewController, PusherDelegate {
    var pusher: Pusher! = nil
    var channel: PusherChannel?
    var labels: [String] = []
    var settings: Settings!
    var say: ((String) -> Void)?
    private var callbackId: String?

    override func viewDidLoad() {
        super.viewDidLoad()

        let options = PusherClientOptions(
            authMethod: .inline(secret: settings.secret),
            host: .host(settings.host),
            port: settings.port,
            useTLS: false
        )
        pusher = Pusher(key: settings.key, options: options)
        pusher.delegate = self

        var count = 0
        channel = pusher.subscribe("my-channel")
        callbackId = channel?.bind(
            eventName: "my-event",
            eventCallback: { (event: PusherEvent) in
                count += 1
                self.show("\(count): \(event.data ?? "")")
            }
        )

        let onMemberAdded = { (member: PusherPresenceChannelMember) in
            self.show("\(member.userId) joined")
        }
        let chan = pusher.subscribe("presence-channel", onMemberAdded: onMemberAdded)
        chan.bind(eventName: "test-event", eventCallback: handle)

        pusher.connect()
    }

    func handle(event: PusherEvent) {
        show("\(event.eventName) on \(event.channelName ?? "-")")
    }

    func show(_ text: String) {
        dispatchPrecondition(condition: .onQueue(.main))
        labels.append(text)
        title = text
        say?(text)
    }

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        show("\(old.stringValue()) to \(new.stringValue())")
    }

    func subscribedToChannel(name: String) {
        show("subscribed to \(name)")
        if name == "presence-channel" {
            channel = pusher.connection.channels.find(name: "my-channel")
        }
    }

    func disconnectButton(_ sender: AnyObject) {
        if let callbackId = callbackId {
            channel?.unbind(eventName: "my-event", callbackId: callbackId)
        }
        pusher.disconnect()
    }
}
