import Foundation
import PusherClient

/// Passes trailing closures to `subscribe`, as programs for PusherSwift and new programs do.
class TrailingClosureProgram {
    let pusher: Pusher
    let say: (String) -> Void

    init(_ pusher: Pusher, say: @escaping (String) -> Void) {
        self.pusher = pusher
        self.say = say
    }

    func start() {
        // These closures get members, as in PusherSwift, even if an event has the same property.
        _ = pusher.subscribe("presence-a") { member in self.say("member \(member.userId)") }
        _ = pusher.subscribe("presence-b") { member in
            let name = (member.userInfo as? [String: Any])?["name"] as? String
            self.say("member \(name ?? member.userId)")
        }
        _ = pusher.subscribe("presence-d") {
            self.say("gone \($0.userId)")
        } onMemberRemoved: { _ in
        }
        // These closures get events. They did not compile with PusherSwift.
        _ = pusher.subscribe("orders") { event in self.say("event \(event.data ?? "")") }
        _ = pusher.subscribe("news") { event in
            guard event.eventName == "created" else { return }
            self.say("news \(event.data ?? "")")
        }
        _ = pusher.subscribe("typed") { (event: PusherEvent) in self.say("typed \(event.eventName)") }
        pusher.connect()
    }
}
