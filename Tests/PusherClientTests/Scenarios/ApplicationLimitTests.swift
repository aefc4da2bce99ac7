import ClientTestSupport
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Limits: resources that an app uses", .limited, .overEachTransport)
struct ApplicationLimitTests {
    let world = VirtualWorld()

    @Test(
        "a channel beyond the limit fails like a refused channel, and its sequences end",
        arguments: ["orders", "private-orders", "presence-orders"]
    )
    func channels(name: String) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(channels: 2)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        for number in 1...2 { pusher.subscribe("channel-\(number)") }
        await world.run()
        let before = world.server.receivedMessages().count
        let channel = pusher.subscribe(name)
        #expect((channel is PusherPresenceChannel) == (name == "presence-orders"))
        for await _ in channel.events { Issue.record("a refused channel got an event") }
        for await _ in channel.resubscriptions { Issue.record("a refused channel was subscribed again") }
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .tooManyChannels)
        #expect(pusher.connection.channels.channels.count == 2)
        #expect(pusher.connection.channels.find(name: name) == nil)
        // The client calls the delegate in the next turn of the event loop.
        await world.run()
        #expect(delegate.subscriptionErrors.elements.map(\.code) == [.tooManyChannels])
        let work = try await world.complete {
            await pusher.withChannel(name) { channel in channel.name }
        }
        #expect(work == name)
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        #expect(!world.server.receivedMessages().dropFirst(before).contains { $0.contains(#""\#(name)""#) })
        // An existing channel does not count again, and an unsubscribed channel does not count.
        #expect(pusher.subscribe("channel-1").fault == nil)
        pusher.unsubscribe("channel-1")
        let other = pusher.subscribe(name)
        await world.runUntil { other.subscribed }
        #expect(other !== channel)
    }

    @Test("an unsubscribed channel does not count toward the limit, even before the server's answer")
    func unansweredChannel() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(channels: 1)))
        let second = try await world.atOnce {
            pusher.subscribe("first")
            pusher.unsubscribe("first")
            return pusher.subscribe("second")
        }
        try #require(second.fault == nil)
        await world.runUntil { second.subscribed }
        #expect(pusher.subscribe("third").fault?.code == .tooManyChannels)
        pusher.unsubscribe("second")
        #expect(pusher.subscribe("third").fault == nil)
    }

    @Test("a channel that the app subscribes again before the server's answer counts toward the limit")
    func channelWantedAgain() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(channels: 1)))
        let first = try await world.atOnce {
            pusher.subscribe("first")
            pusher.unsubscribe("first")
            pusher.subscribe("second")
            return pusher.subscribe("first")
        }
        #expect(first.fault?.code == .tooManyChannels)
        await world.run()
        #expect(pusher.connection.channels.channels.keys.sorted() == ["second"])
    }

    enum Target: String, CaseIterable { case client, channel, user, watchlist }

    @Test(
        "the client reports a callback beyond the limit and does not bind it",
        arguments: Target.allCases
    )
    func bindings(target: Target) async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(bindings: 3)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        await world.run()
        let calls = Log<Int>()
        func bind(_ number: Int) -> String {
            switch target {
            case .client: pusher.bind(eventName: "e") { _ in calls.append(number) }
            case .channel: channel.bind(eventName: "e") { _ in calls.append(number) }
            case .user: pusher.user.bind(eventName: "e") { _ in calls.append(number) }
            case .watchlist: pusher.user.watchlist.bind(eventName: "e") { _ in calls.append(number) }
            }
        }
        func unbind(_ id: String) {
            switch target {
            case .client: pusher.unbind(eventName: "e", callbackId: id)
            case .channel: channel.unbind(eventName: "e", callbackId: id)
            case .user: pusher.user.unbind(eventName: "e", callbackId: id)
            case .watchlist: pusher.user.watchlist.unbind(callbackId: id)
            }
        }
        func call() async {
            let event = PusherEvent(eventName: "e")
            switch target {
            case .client: pusher.engine.deliverAgain(event, to: pusher.engine.clientListeners)
            case .channel: pusher.engine.deliverAgain(event, to: channel.listeners)
            case .user: pusher.engine.deliverAgain(event, to: pusher.engine.userListeners)
            case .watchlist:
                let engine = pusher.engine
                engine.eventLoop.execute { engine.watchlistChanged(WatchlistEvent(name: "e", userIds: [])) }
            }
            await world.run()
        }
        let ids = (1...5).map { bind($0) }
        #expect(Set(ids).count == 5)
        await call()
        #expect(calls.take() == [1, 2, 3])
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyBindings, .tooManyBindings])
        // Unbinding a callback that the client did not bind does not change the count.
        unbind(ids[4])
        unbind(ids[0])
        _ = bind(6)
        _ = bind(7)
        await call()
        #expect(calls.take() == [2, 3, 6])
        #expect(delegate.errors.count == 3)
        switch target {
        case .client: pusher.unbindAll()
        case .channel: channel.unbindAll()
        case .user: pusher.user.unbindAll()
        case .watchlist: pusher.user.watchlist.unbindAll()
        }
        for number in 8...10 { _ = bind(number) }
        await call()
        #expect(calls.take() == [8, 9, 10])
        #expect(delegate.errors.count == 3)
    }

    @Test("callbacks of all kinds share a limit, and sequences do not count")
    func bindingsOfAllKinds() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(bindings: 4)))
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        let sequences = (1...10).map { _ in channel.events }
        channel.bind(eventName: "e") { _ in }
        let observations = [
            channel.observe(named: "e", as: Int.self) { _ in }, channel.observe(on: MainActor.shared) { _ in },
            channel.observe { _ in },
        ]
        await world.run()
        #expect(delegate.errors.count == 0)
        let refused = channel.observe(named: "e", on: MainActor.shared) { _ in }
        await world.run()
        #expect(delegate.errors.elements.map(\.clientError.code) == [.tooManyBindings])
        withExtendedLifetime((sequences, observations, refused)) {}
    }
}
