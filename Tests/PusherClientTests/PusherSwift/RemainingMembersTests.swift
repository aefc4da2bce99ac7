import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Members of PusherSwift's classes that expose internals", .limited)
struct RemainingMembersTests {
    let world = VirtualWorld()

    @Test("a channel lists its callbacks by event name, without sequences")
    func eventHandlers() async throws {
        let channel = world.makeClient().subscribe("a")
        #expect(channel.eventHandlers.isEmpty)
        let first = channel.bind(eventName: "x") { _ in }
        channel.bind(eventName: "x") { _ in }
        channel.bind(eventName: "y") { _ in }
        channel.bind { _ in }
        let events = channel.events(named: "x")
        #expect(channel.eventHandlers.mapValues(\.count) == ["x": 2, "y": 1])
        channel.unbind(eventName: "x", callbackId: first)
        #expect(channel.eventHandlers.mapValues(\.count) == ["x": 1, "y": 1])
        channel.unbindAll(forEventName: "x")
        #expect(channel.eventHandlers.mapValues(\.count) == ["y": 1])
        channel.unbindAll()
        #expect(channel.eventHandlers.isEmpty)
        _ = events
    }

    @Test("the global channel contains the client's callbacks, and is not a channel on the server")
    func globalChannel() async throws {
        let pusher = try await world.makeConnectedClient()
        let global = try #require(pusher.connection.globalChannel)
        let received = Log<String>()
        let id = pusher.bind { received.append($0.eventName) }
        pusher.bind(eventName: "x") { _ in }
        #expect(Array(global.globalCallbacks.keys) == [id])
        global.globalCallbacks[id]?(PusherEvent(eventName: "by hand"))
        #expect(received.take() == ["by hand"])
        #expect(global === pusher.connection.globalChannel)
        #expect(global.subscribed == false)
        world.server.sendEvent("x")
        await world.run()
        #expect(received.elements == ["x"])
        await #expect(throws: SubscriptionError.self) { try await world.complete { try await global.subscribed() } }
        global.unbindAll()
        #expect(global.globalCallbacks.isEmpty)
        // A callback of the main actor runs on the main actor, even if another thread passes the event.
        let ofMain = Log<String>()
        let observation = pusher.observe(on: MainActor.shared) { event in ofMain.append(event.eventName) }
        for callback in global.globalCallbacks.values { callback(PusherEvent(eventName: "by hand")) }
        await world.runUntil { ofMain.count == 1 }
        observation.cancel()
        world.server.sendEvent("x")
        await world.run()
        #expect(received.count == 1)
        #expect(!world.server.receivedMessages().contains { $0.contains("global") })
    }

    @Test("the sequences of a channel that gets no events end at once")
    @available(*, deprecated)
    func endedSequences() async throws {
        let pusher = world.makeClient()
        let global = try #require(pusher.connection.globalChannel)
        var misses = global.resubscriptions.makeAsyncIterator()
        #expect(await misses.next() == nil)
        let detached = PusherChannel(name: "a", connection: pusher.connection)
        var events = detached.events.makeAsyncIterator()
        #expect(await events.next() == nil)
    }

    @Test("a channel has a weak reference to its connection")
    func connection() async throws {
        var pusher: Pusher? = world.makeUnheldClient()
        let channel = try #require(pusher?.subscribe("a"))
        #expect(channel.connection === pusher?.connection)
        pusher = nil
        #expect(channel.connection == nil)
    }

    @Test("a channel that the app creates without subscribing has no subscription")
    @available(*, deprecated)
    func detachedChannel() async throws {
        let pusher = try await world.makeConnectedClient()
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let detached = PusherChannel(name: "private-a", connection: pusher.connection)
        let channel = pusher.subscribe("private-a")
        await world.runUntil { channel.subscribed }
        #expect(!detached.subscribed)
        detached.trigger(eventName: "client-a", data: "x")
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.unsubscribed])
        await #expect(throws: SubscriptionError.self) { try await world.complete { try await detached.subscribed() } }
    }

    @Test("a channel that the app creates without subscribing calls its callbacks for events that the app passes in")
    @available(*, deprecated)
    func detachedBinding() async throws {
        let pusher = try await world.makeConnectedClient()
        let detached = PusherChannel(name: "orders", connection: pusher.connection)
        #expect(detached.eventHandlers.isEmpty)
        let called = Log<String>()
        let id = detached.bind(eventName: "created") { called.append("1 \($0.data ?? "")") }
        detached.bind(eventName: "created") { called.append("2 \($0.data ?? "")") }
        detached.bind(eventName: "paid") { _ in called.append("paid") }
        #expect(detached.eventHandlers.mapValues(\.count) == ["created": 2, "paid": 1])
        var events = pusher.subscribe("orders").events(named: "created").makeAsyncIterator()
        await world.run()
        try world.server.publish(event: "created", data: "x", to: "orders")
        await world.run()
        #expect(called.elements.isEmpty)
        let event = try #require(await events.next())
        detached.handleEvent(event: event)
        await world.run()
        #expect(called.take() == ["1 x", "2 x"])
        detached.unbind(eventName: "created", callbackId: id)
        detached.unbindAll(forEventName: "paid")
        #expect(detached.eventHandlers.mapValues(\.count) == ["created": 1])
        detached.unbindAll()
        #expect(detached.eventHandlers.isEmpty)
    }

    @Test("the client does not keep a released channel that the app has passed an event to")
    @available(*, deprecated)
    func releasedDetachedChannel() async throws {
        final class Owner: Sendable {
            private let released: @Sendable () -> Void

            init(_ released: @escaping @Sendable () -> Void) { self.released = released }

            deinit { released() }
        }
        let pusher = try await world.makeConnectedClient()
        let released = Log<Bool>()
        do {
            let detached = PusherChannel(name: "orders", connection: pusher.connection)
            // The object uses the client when it is released.
            let owner = Owner { [pusher] in released.append(pusher.statistics.connections.established == 1) }
            detached.bind(eventName: "created") { _ in withExtendedLifetime(owner) {} }
            detached.handleEvent(event: PusherEvent(eventName: "created", data: "x"))
        }
        await world.runUntil { released.elements == [true] }
    }

    @Test("after the app resets the count of attempts, the waits start again with the first wait")
    func reconnectAttempts() async throws {
        let pusher = try await world.makeConnectedClient(
            .virtual(retryPolicy: .delays([.seconds(1), .seconds(10), .seconds(100)]))
        )
        world.network.failLinks(with: .unreachable)
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        await world.advance(by: .seconds(10))
        #expect(pusher.connection.reconnectAttempts == 2)
        pusher.connection.reconnectAttempts = 0
        await world.advance(by: .seconds(100))
        #expect(pusher.connection.reconnectAttempts == 1)
        pusher.connection.reconnectAttempts = -5
        #expect(pusher.connection.reconnectAttempts == 0)
        pusher.connection.reconnectAttempts = .max
        await world.advance(by: .seconds(200))
        #expect(pusher.connection.reconnectAttempts > 1_000_000)
    }
}
