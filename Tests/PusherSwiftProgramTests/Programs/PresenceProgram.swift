// swift-format-ignore-file: NeverUseImplicitlyUnwrappedOptionals

import Foundation
import PusherClient

/// The program for the section "Presence channels" of PusherSwift's documentation: uses member callbacks, the list of
/// members, and the client's own member.
class PresenceProgram {
    let pusher: Pusher
    let say: (String) -> Void
    var room: PusherPresenceChannel!
    var joined: [String] = []

    init(_ settings: Settings, userId: String, say: @escaping (String) -> Void) {
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
        pusher.connection.userDataFetcher = { () -> PusherPresenceChannelMember in
            return PusherPresenceChannelMember(userId: userId, userInfo: ["twitter": "@\(userId)"])
        }
    }

    func start() {
        let onMemberChange = { (member: PusherPresenceChannelMember) in
            self.joined.append(member.userId)
            let info = member.userInfo as? [String: Any]
            self.say("joined: \(member.userId) \(info?["twitter"] as? String ?? "-")")
        }

        room = pusher.subscribeToPresenceChannel(
            channelName: "presence-my-channel",
            onMemberAdded: onMemberChange,
            onMemberRemoved: { [weak self] member in
                self?.say("left: \(member.userId)")
            }
        )
        room.bind(eventName: "pusher:subscription_succeeded") { [unowned self] _ in
            let userInfo = self.room.me()?.userInfo as? PusherUserInfoObject
            self.say("me: \(self.room.me()?.userId ?? "-") \(userInfo?["twitter"] as? String ?? "-")")
            self.say("members: \(self.room.members.map { $0.userId }.sorted())")
        }
        pusher.connect()
    }

    func find(_ userId: String) -> PusherPresenceChannelMember? {
        return pusher.connection.channels.findPresence(name: "presence-my-channel")?.findMember(userId: userId)
    }

    func replaceCallbacks() {
        room.onMemberAdded = { member in
            self.say("replaced: \(member.userId)")
        }
        room.onMemberRemoved = nil
    }
}
