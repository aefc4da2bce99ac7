import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// PusherSwift's tests of binding and unbinding, which check the called callbacks.
@Suite("PusherSwift: binding", .limited)
struct PusherSwiftBindingTests {
    let world = VirtualWorld()
    let calls = Log<String>()

    /// Returns the names of the callbacks that the client calls for these events.
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

    @Test("the client calls its callback until the app unbinds the callback or all callbacks")
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

    @Test("the client calls a channel's callback until the app unbinds the callback by its id")
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

    @Test("unbindAll(forEventName:) unbinds the callbacks of one name, and unbindAll() unbinds all callbacks")
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
