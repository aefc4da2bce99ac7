// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherClient

/// The program for the section "Binding to events" of PusherSwift's documentation: binds callbacks on the client and on
/// a channel, and unbinds them.
class BindingProgram {
    let pusher: Pusher
    let say: (String) -> Void
    var channel: PusherChannel!
    private var globalId = ""
    private var channelId = ""

    init(_ settings: Settings, say: @escaping (String) -> Void) {
        self.say = say
        pusher = Pusher(
            key: settings.key,
            options: PusherClientOptions(host: .host(settings.host), port: settings.port, useTLS: false)
        )
    }

    func start() {
        channel = pusher.subscribe("my-channel")
        globalId = pusher.bind(eventCallback: { (event: PusherEvent) in
            if event.eventName == "new-price" {
                self.say("global: \(event.data ?? "nil") on \(event.channelName ?? "nil")")
            }
        })
        channelId = channel.bind(eventName: "new-price") { event in
            self.say("channel: \(event.data ?? "nil")")
        }
        channel.bind(eventName: "new-price", eventCallback: priceChanged)
        channel.bind(eventName: "end") { [weak self] (_: PusherEvent) in
            self?.say("end")
        }
        pusher.connect()
    }

    func priceChanged(event: PusherEvent) {
        say("method: \(event.data ?? "nil")")
    }

    func unbindOne() {
        pusher.unbind(callbackId: globalId)
        channel.unbind(eventName: "new-price", callbackId: channelId)
    }

    func unbindName() {
        channel.unbindAll(forEventName: "new-price")
    }

    func unbindEverything() {
        pusher.unbindAll()
        channel.unbindAll()
    }
}
