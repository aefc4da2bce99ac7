import Foundation
import NIOConcurrencyHelpers
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Channels that several parts of an app share", .limited, .overEachTransport)
struct SharingTests {
    let world = VirtualWorld()

    private var frames: [String] {
        world.server.receivedMessages().compactMap { message in
            ["pusher:subscribe", "pusher:unsubscribe"].first { message.contains("\"\($0)\"") }
        }
    }

    /// A part of an app that uses a channel until `end()` is called.
    private struct Part: Sendable {
        let pusher: Pusher
        let name: String
        private let leaving: AsyncStream<Void>
        private let leave: AsyncStream<Void>.Continuation
        let channels = Log<PusherChannel>()

        init(_ pusher: Pusher, _ name: String) {
            self.pusher = pusher
            self.name = name
            (leaving, leave) = AsyncStream.makeStream()
        }

        func run() async {
            await pusher.withChannel(name) { channel in
                channels.append(channel)
                for await _ in leaving {}
            }
        }

        func end() { leave.finish() }
    }

    @Test("the client subscribes a shared channel once, and unsubscribes when no part uses the channel any more")
    func lastLeaves() async throws {
        let pusher = try await world.makeConnectedClient()
        let parts = [Part(pusher, "orders"), Part(pusher, "orders")]
        let tasks = parts.map { part in Task { await part.run() } }
        await world.runUntil { parts.allSatisfy { $0.channels.count == 1 } }
        #expect(parts[0].channels.elements == parts[1].channels.elements)
        #expect(parts[0].channels.elements.first?.subscribed == true)
        parts[0].end()
        await tasks[0].value
        await world.run()
        #expect(parts[1].channels.elements.first?.subscribed == true)
        parts[1].end()
        await tasks[1].value
        await world.run()
        #expect(frames == ["pusher:subscribe", "pusher:unsubscribe"])
        #expect(pusher.connection.channels.channels.isEmpty)
    }

    @Test(
        "a channel that the app subscribed with subscribe() stays subscribed after withChannel()",
        arguments: [true, false]
    )
    func held(isFirst: Bool) async throws {
        let pusher = try await world.makeConnectedClient()
        if isFirst { pusher.subscribe("orders") }
        await pusher.withChannel("orders") { _ in
            if !isFirst { pusher.subscribe("orders") }
        }
        await world.run()
        #expect(frames == ["pusher:subscribe"])
        #expect(pusher.connection.channels.find(name: "orders")?.subscribed == true)
    }

    @Test("unsubscribe() unsubscribes a shared channel for all parts, and does not affect a later channel")
    func unsubscribed() async throws {
        let pusher = try await world.makeConnectedClient()
        let part = Part(pusher, "orders")
        let task = Task { await part.run() }
        await world.runUntil { part.channels.count == 1 }
        var events = try #require(part.channels.elements.first).events(named: "e").makeAsyncIterator()
        pusher.unsubscribe("orders")
        #expect(await events.next() == nil)
        let next = pusher.subscribe("orders")
        part.end()
        await task.value
        await world.runUntil { next.subscribed }
        #expect(pusher.connection.channels.find(name: "orders") === next)
    }

    @Test("withChannel() unsubscribes if its body throws or is cancelled")
    func failing() async throws {
        struct Failure: Error {}
        let pusher = try await world.makeConnectedClient()
        await #expect(throws: Failure.self) { try await pusher.withChannel("a") { _ in throw Failure() } }
        let task = Task {
            await pusher.withChannel("b") { channel in
                for await _ in channel.events {}
            }
        }
        await world.runUntil { pusher.connection.channels.find(name: "b") != nil }
        task.cancel()
        await task.value
        await world.run()
        #expect(pusher.connection.channels.channels.isEmpty)
    }

    @Test("withChannel() passes a presence channel to the body as a PusherPresenceChannel")
    func presence() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(user: "ada"))
        let isPresence = await pusher.withChannel("presence-a") { $0 is PusherPresenceChannel }
        #expect(isPresence)
    }

    // MARK: Observations

    @Test("an observation of the user ends when it is released or cancelled")
    func userObservations() async throws {
        let pusher = world.makeClient(.virtual(user: "ada"))
        let received = Log<String>()
        var named: EventObservation? = pusher.user.observe(named: "note") {
            received.append("named \($0.data ?? "")")
        }
        let any = pusher.user.observe { received.append("any \($0.eventName)") }
        pusher.signIn()
        pusher.connect()
        await world.runUntil { pusher.user.isSignedIn }
        func publish(_ data: String) async throws -> [String] {
            await world.run()
            _ = received.take()
            try world.server.publish(event: "note", data: data, toUser: "ada")
            await world.run()
            return received.take()
        }
        #expect(try await publish("1").sorted() == ["any note", "named 1"])
        _ = named
        named = nil
        #expect(try await publish("2") == ["any note"])
        any.cancel()
        #expect(try await publish("3") == [])
    }

    @Test("an observation of a channel ends when it is released or cancelled")
    func observations() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        let received = Log<String>()
        var released: EventObservation? = channel.observe(named: "e") { received.append("named \($0.data ?? "")") }
        let cancelled = pusher.observe { received.append("any \($0.data ?? "")") }
        let typed = channel.observe(named: "e", as: Int.self) { received.append("typed \($0.value)") }
        func publish(_ data: String) async throws -> [String] {
            try world.server.publish(event: "e", data: data, to: "orders")
            await world.run()
            return received.take()
        }
        #expect(try await publish("1") == ["any 1", "named 1", "typed 1"])
        _ = released
        released = nil
        #expect(try await publish("2") == ["any 2", "typed 2"])
        cancelled.cancel()
        cancelled.cancel()
        #expect(try await publish("3") == ["typed 3"])
        typed.cancel()
        #expect(try await publish("4") == [])
        #expect(channel.eventHandlers.isEmpty)
    }

    @Test("an observation does not keep the client alive, and can outlive the client")
    func lifetime() async throws {
        var pusher: Pusher? = world.makeUnheldClient()
        weak let engine = pusher?.engine
        let observation = pusher?.subscribe("orders").observe(named: "e") { _ in }
        pusher = nil
        await world.runUntil { engine == nil }
        observation?.cancel()
    }
}
