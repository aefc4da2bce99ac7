import TestTraits
import Testing

@testable import PusherCore

@Suite("Ordinary events", .limited)
struct OrdinaryEventTests {
    private func recipient(
        _ event: String,
        on channel: String?,
        of client: CoreClient,
        attempt: Int? = nil
    ) -> ClientStateMachine.Recipient? {
        client.machine.recipient(ofEvent: event, on: channel, client.id(of: attempt))
    }

    private func client(subscribedTo names: String...) -> CoreClient {
        var client = CoreClient.connected()
        for name in names {
            client.subscribe(name)
            if name.hasPrefix("private") { client.authorized(name) }
            client.received(.success(name))
        }
        return client
    }

    @Test("The recipient of an ordinary event is its channel, even before the subscription")
    func channel() throws {
        var client = client(subscribedTo: "a")
        client.subscribe("b")
        for name in ["a", "b"] {
            let id = try #require(client.machine.subscriptions[name]?.id)
            #expect(recipient("message", on: name, of: client) == .channel(id))
            #expect(recipient("pusherish", on: name, of: client) == .channel(id))
        }
    }

    @Test("An ordinary event without a channel goes to the listeners of all events")
    func noChannel() {
        #expect(recipient("message", on: nil, of: client()) == .globalListeners)
    }

    @Test(
        "The protocol's own messages are not ordinary events",
        arguments: ["pusher:ping", "pusher:error", "pusher_internal:member_added", "pusher_internal:new", "pusher:new"]
    )
    func protocolEvents(event: String) {
        #expect(recipient(event, on: "a", of: client(subscribedTo: "a")) == nil)
    }

    @Test("Events of encrypted channels, of users and of unwanted channels are not ordinary events")
    func others() {
        var client = client(subscribedTo: "a", "private-encrypted-b")
        #expect(recipient("message", on: "private-encrypted-b", of: client) == nil)
        #expect(recipient("message", on: "#server-to-user-1", of: client) == nil)
        #expect(recipient("message", on: "c", of: client) == nil)
        client.unsubscribe("a")
        #expect(recipient("message", on: "a", of: client) == nil)
    }

    @Test("No event is ordinary before the greeting, on an older socket, or after the connection is lost")
    func otherTimes() {
        var client = client(subscribedTo: "a")
        client.closed()
        #expect(recipient("message", on: "a", of: client, attempt: 1) == nil)
        client.connect()
        #expect(recipient("message", on: "a", of: client, attempt: 2) == nil)
        client.establish()
        #expect(recipient("message", on: "a", of: client, attempt: 1) == nil)
        #expect(recipient("message", on: "a", of: client, attempt: 2) != nil)
    }
}
