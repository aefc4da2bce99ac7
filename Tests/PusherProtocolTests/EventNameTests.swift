import PusherProtocol
import TestTraits
import Testing

@Suite("Event names", .limited)
struct EventNameTests {
    @Test(
        "The prefix shows whether an event belongs to the protocol, to clients or to the app",
        arguments: [
            ("pusher:ping", [.pusher]), ("pusher:", [.pusher]), ("pusher:anything-new", [.pusher]),
            ("pusher_internal:subscription_succeeded", [.internal]), ("pusher_internal:", [.internal]),
            ("client-typing", [.client]), ("client-", [.client]),
            ("pusher", []), ("pusher_internal", []), ("pushers:x", []), ("Pusher:ping", []), ("pusher-ping", []),
            ("PUSHER_INTERNAL:x", []), ("client", []), ("Client-x", []), ("my-event", []), ("", []), (" pusher:x", []),
        ] as [(String, Set<Owner>)]
    )
    func owners(name: String, owners: Set<Owner>) {
        #expect(EventName.isPusherEvent(name) == owners.contains(.pusher))
        #expect(EventName.isInternalEvent(name) == owners.contains(.internal))
        #expect(EventName.isClientEvent(name) == owners.contains(.client))
        #expect(EventName.isProtocolEvent(name) == !owners.isDisjoint(with: [.pusher, .internal]))
    }

    enum Owner { case pusher, `internal`, client }
}
