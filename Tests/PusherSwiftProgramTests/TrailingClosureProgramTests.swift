import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@Suite("Trailing closures of subscribe, in Swift 5 mode", .limited)
struct TrailingClosureProgramTests {
    @Test("closures with a member parameter get members, and closures with an event parameter get events")
    func closures() async throws {
        try await withProgram { server, settings, journal in
            let program = TrailingClosureProgram(
                PresenceProgram(settings, userId: "ada", say: { _ in }).pusher,
                say: journal.say
            )
            program.start()
            for name in ["presence-a", "presence-b", "presence-d", "orders", "news", "typed"] {
                try await server.waitForSubscription(to: name, timeout: .patience)
            }
            let guest = PresenceProgram(settings, userId: "bob", say: { _ in })
            for name in ["presence-a", "presence-b", "presence-d"] { guest.pusher.subscribe(name) }
            guest.pusher.connect()
            try server.publish(event: "created", data: "7", to: "orders")
            try server.publish(event: "created", data: "8", to: "news")
            try server.publish(event: "created", data: "9", to: "typed")
            for line in ["event 7", "news 8", "typed created", "member bob", "gone bob"] {
                await journal.waitFor(line)
            }
            guest.pusher.disconnect()
            program.pusher.disconnect()
        }
    }
}
