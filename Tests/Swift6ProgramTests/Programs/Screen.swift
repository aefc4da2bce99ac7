import Foundation
import PusherClient

/// A screen of the main actor that is its client's delegate. The program is in Swift 6 mode and uses PusherSwift's
/// names.
@MainActor
final class Screen: @preconcurrency PusherDelegate {
    let pusher: Pusher
    private(set) var lines: [String] = []
    private(set) var title = ""
    private var observations: [EventObservation] = []
    private let say: @Sendable (String) -> Void

    init(options: PusherClientOptions, key: String, say: @escaping @Sendable (String) -> Void) {
        self.say = say
        pusher = Pusher(key: key, options: options)
        pusher.delegate = self
    }

    func viewDidLoad() {
        let channel = pusher.subscribe("my-channel")
        let main = MainActor.shared
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        observations = [
            channel.observe(named: "my-event", on: main) { [weak self] event in
                self?.show("event \(event.data ?? "")")
            },
            channel.observe(named: "typed", as: Price.self, on: main) { [weak self] event in
                self?.show("price \(event.value.value)")
            },
            pusher.observe(on: main) { [weak self] event in
                self?.title = event.eventName
                if event.eventName == "my-event" { self?.say("title \(event.eventName)") }
            },
            pusher.observe(named: "my-event", on: main) { [weak self] event in
                self?.show("anywhere \(event.channelName ?? "")")
            },
            room.observe(named: "pusher:member_added", on: main) { [weak self, weak room] _ in
                self?.show("members \(room?.members.count ?? 0)")
            },
            pusher.user.observe(named: "note", on: main) { [weak self] event in
                self?.show("note \(event.data ?? "")")
            },
            pusher.user.observe(on: main) { [weak self] event in self?.show("user \(event.eventName)") },
        ]
        pusher.signIn()
        pusher.connect()
    }

    func close() {
        observations = []
        pusher.disconnect()
    }

    private func show(_ line: String) {
        lines.append(line)
        say(line)
    }

    // MARK: PusherDelegate

    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        show("\(old.stringValue()) to \(new.stringValue())")
    }

    func subscribedToChannel(name: String) { show("subscribed to \(name)") }
}

struct Price: Decodable, Sendable { let value: Double }
