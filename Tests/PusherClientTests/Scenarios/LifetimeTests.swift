import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Lifetime", .limited, .overEachTransport)
struct LifetimeTests {
    let world = VirtualWorld()

    @Test(
        "a released client closes its socket, even if the app holds a channel or sequence (PusherSwift does not)"
    )
    func release() async throws {
        var pusher: Pusher? = world.makeUnheldClient()
        pusher?.connect()
        let channel = pusher?.subscribe("orders")
        let connection = pusher?.connection
        let events = channel?.events
        let statuses = pusher?.statuses
        await world.run()
        #expect(world.server.connections.count == 1)
        pusher = nil
        await world.letServerNotice()
        #expect(world.server.connections.isEmpty)
        #expect(connection?.connectionState == .disconnected)
        connection?.connect()
        await world.run()
        #expect(world.server.connections.isEmpty)
        var iterator = events?.makeAsyncIterator()
        while let event = await iterator?.next() { #expect(event.eventName == "pusher:subscription_succeeded") }
        withExtendedLifetime((channel, connection, events, statuses)) {}
    }

    @Test(
        "releasing a client frees the client's objects in every state",
        arguments: ["initialized", "connecting", "connected", "waiting", "disconnecting", "disconnected", "refused"]
    )
    func freed(state: String) async throws {
        switch state {
        case "connecting": world.server.failConnections(with: .stalled)
        case "waiting": world.network.failLinks(with: .unreachable)
        case "refused": world.server.failConnections(with: .closed(code: 4001))
        default: break
        }
        var pusher: Pusher? = world.makeUnheldClient()
        weak let engine = pusher?.engine
        weak let channel = pusher?.subscribe("orders")
        weak let weakPusher = pusher
        if state != "initialized" { pusher?.connect() }
        await world.run()
        if state.hasPrefix("disconnect") { pusher?.disconnect() }
        if state == "disconnected" { await world.run() }
        #expect(channel != nil)
        pusher = nil
        await world.run()
        #expect(weakPusher == nil)
        #expect(channel == nil)
        #expect(engine == nil)
        await world.letServerNotice()
        #expect(world.server.connections.allSatisfy { !$0.isEstablished })
    }

    @Test("a call that waits for a subscription fails when the client is released")
    func waiterOfReleasedClient() async throws {
        var pusher: Pusher? = world.makeUnheldClient()
        let engine = try #require(pusher?.engine)
        let channel = try #require(pusher?.subscribe("orders"))
        let waiting = Task { try await channel.subscribed() }
        await world.runUntil { engine.read { !$0.waiters.isEmpty } }
        pusher = nil
        let error = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await waiting.value }
        }
        #expect(error?.code == .disconnected)
        let later = await #expect(throws: PusherClientError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(later?.message.contains("released") == true)
    }

    @Test("disconnecting a client does not affect another client (NWWebSocket shares a global)")
    func twoClients() async throws {
        let first = try await world.makeConnectedClient()
        let second = try await world.makeConnectedClient()
        let firstDelegate = RecordingDelegate()
        let secondDelegate = RecordingDelegate()
        first.delegate = firstDelegate
        second.delegate = secondDelegate
        let channel = second.subscribe("orders")
        first.subscribe("orders")
        await world.run()
        first.disconnect()
        await world.run()
        #expect(second.connection.connectionState == .connected)
        #expect(channel.subscribed)
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        #expect(first.connection.connectionState == .disconnected)
        #expect(second.connection.connectionState == .connected)
        #expect(firstDelegate.states.elements == [.disconnecting, .disconnected])
        #expect(secondDelegate.states.elements == [.disconnected, .reconnecting, .connecting, .connected])
    }

    @Test("a client's debug lines reach only its own delegate (PusherSwift has one logger for all)")
    func debugLines() async throws {
        final class Reader: PusherDelegate {
            let lines = Log<String>()
            func debugLog(message: String) { lines.append(message) }
        }
        let readers = [Reader(), Reader()]
        let clients = readers.map { reader in
            let pusher = world.makeClient()
            pusher.delegate = reader
            return pusher
        }
        for (index, pusher) in clients.enumerated() {
            pusher.connect()
            await world.run()
            #expect(!readers[index].lines.take().isEmpty)
            #expect(readers[1 - index].lines.take().isEmpty)
        }
    }

    @Test("the log explains that a released client delivers no events (PusherSwift 109, 132, 157, 231)")
    func nobodyKeptIt() async throws {
        let lines = LogLines()
        for isInUse in [true, false] {
            var pusher: Pusher? = world.makeUnheldClient(.virtual(logger: lines.logger(.warning)))
            pusher?.subscribe("orders")
            pusher?.connect()
            if !isInUse {
                await world.run()
                // The closing handshake is still running when the client is released.
                pusher?.disconnect()
            }
            pusher = nil
            #expect(lines.messages.count { $0.contains("Keep a reference to it") } == 1)
        }
    }

    @Test("the client does not keep its delegate alive, and releases the closure of an unbound callback")
    func ownership() async throws {
        final class Owned: Sendable {}
        let pusher = try await world.makeConnectedClient()
        var delegate: RecordingDelegate? = RecordingDelegate()
        weak let weakDelegate = delegate
        pusher.delegate = delegate
        delegate = nil
        #expect(weakDelegate == nil)
        #expect(pusher.delegate == nil)

        var owned: Owned? = Owned()
        weak let weakOwned = owned
        let channel = pusher.subscribe("orders")
        let id = channel.bind(eventName: "e") { [owned] _ in withExtendedLifetime(owned) {} }
        owned = nil
        #expect(weakOwned != nil)
        channel.unbind(eventName: "e", callbackId: id)
        #expect(weakOwned == nil)
    }

    @Test("closures that hold their channel do not keep a released client in memory")
    func cycles() async throws {
        var pusher: Pusher? = world.makeUnheldClient()
        weak let engine = pusher?.engine
        pusher?.connect()
        for name in ["orders", "news"] {
            guard let channel = pusher?.subscribe(name) else { continue }
            pusher?.bind { _ in withExtendedLifetime(channel) {} }
            channel.bind { _ in withExtendedLifetime(channel) {} }
            channel.onSubscriptionCountChanged = { _ in withExtendedLifetime(channel) {} }
        }
        await world.run()
        pusher?.unsubscribe("news")
        pusher = nil
        await world.run()
        #expect(engine == nil)
    }

    @Test("a retired channel releases closures that the app sets later")
    func closuresOfUnused() async throws {
        final class Owned: Sendable {}
        let pusher = try await world.makeConnectedClient()
        let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
        pusher.unsubscribe("presence-room")
        await world.run()
        let global = try #require(pusher.connection.globalChannel)
        weak var owned: Owned?
        do {
            let kept = Owned()
            owned = kept
            room.onMemberAdded = { [kept, room] _ in withExtendedLifetime((kept, room)) {} }
            room.onMemberRemoved = { [kept, room] _ in withExtendedLifetime((kept, room)) {} }
            global.onSubscriptionCountChanged = { [kept, pusher] _ in withExtendedLifetime((kept, pusher)) {} }
        }
        #expect(owned == nil)
        #expect(room.onMemberAdded == nil && global.onSubscriptionCountChanged == nil)
    }

    @Test("an object that a closure owns can call the client when the closure is released")
    func releaseCallsBack() async throws {
        final class Owner: Sendable {
            let onRelease: @Sendable () -> Void
            init(_ onRelease: @escaping @Sendable () -> Void) { self.onRelease = onRelease }
            deinit { onRelease() }
        }
        let pusher = try await world.makeConnectedClient()
        let count = Log<Int>()
        func owner() -> Owner {
            Owner {
                _ = pusher.connection.connectionState
                _ = pusher.connection.channels.channels
                pusher.bind { _ in }
                count.append(1)
            }
        }
        var channel: PusherChannel? = pusher.subscribe("orders")
        let id = channel?.bind(eventName: "e") { [owner = owner()] _ in withExtendedLifetime(owner) {} } ?? ""
        channel?.unbind(eventName: "e", callbackId: id)
        channel?.onSubscriptionCountChanged = { [owner = owner()] _ in withExtendedLifetime(owner) {} }
        channel?.onSubscriptionCountChanged = nil
        channel?.bind { [owner = owner()] _ in withExtendedLifetime(owner) {} }
        channel = nil
        pusher.unsubscribe("orders")
        await world.run()
        #expect(count.count == 3)
    }
}
