import PusherTestServer
import TestSupport
import Testing

@testable import PusherClient

/// PusherSwift's tests of binding and unbinding, shown by the callbacks that are called.
@Suite("PusherSwift: binding", .timeLimit(.minutes(5)))
struct PusherSwiftBindingTests {
    let world = VirtualWorld()
    let calls = Log<String>()

    /// The callbacks that are called for each of these events.
    private func calls(for events: String...) async -> [String] {
        for event in events { world.server.sendEvent(event, channel: "orders") }
        await world.run()
        return calls.take()
    }

    private func subscribed() async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        return (pusher, channel)
    }

    private func call(_ name: String) -> @Sendable (PusherEvent) -> Void {
        { [calls] _ in calls.append(name) }
    }

    @Test("a callback of the client is called until it is unbound by its id, or with all others")
    func client() async throws {
        let (pusher, _) = try await subscribed()
        #expect(await calls(for: "created") == [])
        let first = pusher.bind(eventCallback: call("first"))
        let second = pusher.bind(eventCallback: call("second"))
        #expect(first != second)
        #expect(await calls(for: "created") == ["first", "second"])
        pusher.unbind(callbackId: first)
        #expect(await calls(for: "created") == ["second"])
        pusher.bind(eventCallback: call("third"))
        pusher.unbindAll()
        #expect(await calls(for: "created") == [])
        #expect(pusher.engine.clientListeners.isEmpty)
    }

    @Test("a callback of a channel's event is called until it is unbound by its id")
    func channel() async throws {
        let (_, channel) = try await subscribed()
        #expect(channel.listeners.isEmpty)
        let first = channel.bind(eventName: "created", eventCallback: call("first"))
        let second = channel.bind(eventName: "created", eventCallback: call("second"))
        #expect(first != second)
        #expect(await calls(for: "created", "deleted") == ["first", "second"])
        channel.unbind(eventName: "created", callbackId: first)
        #expect(await calls(for: "created") == ["second"])
    }

    @Test("unbinding all of one name leaves the other names, unbinding all leaves none")
    func allOfAChannel() async throws {
        let (_, channel) = try await subscribed()
        for name in ["created", "created", "deleted", "changed"] {
            channel.bind(eventName: name, eventCallback: call(name))
        }
        channel.unbindAll(forEventName: "created")
        #expect(await calls(for: "created", "deleted", "changed") == ["deleted", "changed"])
        channel.unbindAll()
        #expect(await calls(for: "created", "deleted", "changed") == [])
        #expect(channel.listeners.isEmpty)
    }
}
