import PusherClient

/// The closures of the program for PusherSwift, in Swift 6 mode.
enum TrailingClosures {
    static func start(_ pusher: Pusher, say: @escaping @Sendable (String) -> Void) {
        pusher.subscribe("presence-a") { member in say("member \(member.userId)") }
        pusher.subscribe("presence-b") { member in
            let name = (member.userInfo as? [String: Any])?["name"] as? String
            say("member \(name ?? member.userId)")
        }
        pusher.subscribe("presence-c") { _ in say("somebody") }
        pusher.subscribe("presence-d") {
            say("gone \($0.userId)")
        } onMemberRemoved: { _ in
        }
        pusher.subscribe("orders") { event in say("event \(event.data ?? "")") }
        pusher.subscribe("news") { event in
            guard event.eventName == "created" else { return }
            say("news \(event.data ?? "")")
        }
        pusher.subscribe("typed") { (event: PusherEvent) in say("typed \(event.eventName)") }
        pusher.connect()
    }
}
