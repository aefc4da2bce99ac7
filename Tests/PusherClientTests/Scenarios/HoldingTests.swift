import Dispatch
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Events before the first listener", .limited, .overEachTransport)
struct HoldingTests {
    struct Order: Codable, Equatable, Sendable {
        var id: Int
    }

    let world = VirtualWorld()

    /// Returns a connected client, and a channel that is subscribed and has no listeners.
    private func subscribed(
        _ options: PusherClientOptions = .virtual(),
        _ name: String = "orders"
    ) async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe(name)
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    private func publish(_ numbers: Range<Int>, _ event: String = "created") async throws {
        try await world.atOnce { [server = world.server] in
            for number in numbers { try server.publish(event: event, data: #"{"id":\#(number)}"#, to: "orders") }
        }
        await world.run()
    }

    private func next(_ count: Int, of events: EventSequence<PusherEvent>) async -> [String] {
        var iterator = events.makeAsyncIterator()
        var received: [String] = []
        for _ in 0..<count { received.append(await iterator.next()?.data ?? "") }
        return received
    }

    private func texts(_ numbers: Range<Int>) -> [String] { numbers.map { #"{"id":\#($0)}"# } }

    @Test("a sequence gets a flood that arrives between subscribe() and the sequence")
    func sequence() async throws {
        let (pusher, channel) = try await subscribed()
        var errors = pusher.errors.makeAsyncIterator()
        try await publish(0..<200)
        // An app whose thread is slow gets here after the flood has begun.
        let orders = channel.values(named: "created", as: Order.self)
        try await publish(200..<1_000)
        var iterator = orders.makeAsyncIterator()
        for number in 0..<1_000 { #expect(await iterator.next() == Order(id: number)) }
        #expect(pusher.statistics.events.unhandled == 0 && pusher.statistics.events.dropped == [:])
        world.server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"no"}}"#)
        await world.run()
        #expect(await errors.next()?.code == .serverError)
    }

    @Test(
        "callbacks get the events that arrived before them, in order and before later events",
        arguments: [true, false]
    )
    func callbacks(onQueue: Bool) async throws {
        let queue = DispatchQueue(label: "callbacks")
        let (pusher, channel) = try await subscribed(.virtual(callbackQueue: onQueue ? .queue(queue) : .eventLoop))
        let (created, paid) = (Log<String>(), Log<String>())
        try await publish(0..<20)
        try await publish(0..<20, "paid")
        try await world.atOnce { [server = world.server] in
            channel.bind(eventName: "created") { created.append($0.data ?? "") }
            // The second callback is later than events of its name, and than the first callback.
            for number in 20..<40 {
                for event in ["created", "paid"] {
                    try server.publish(event: event, data: #"{"id":\#(number)}"#, to: "orders")
                }
            }
        }
        await world.run()
        channel.bind(eventName: "paid") { paid.append($0.data ?? "") }
        try await publish(40..<60)
        try await publish(40..<60, "paid")
        await world.runUntil { created.count >= 60 && paid.count >= 60 }
        queue.sync {}
        #expect(created.elements == texts(0..<60))
        #expect(paid.elements == texts(0..<60))
        #expect(pusher.statistics.events.unhandled == 0)
    }

    @Test("a callback that is bound on another thread during a flood gets each event once, in order")
    func flood() async throws {
        let queue = DispatchQueue(label: "callbacks")
        for _ in 1...20 {
            let (pusher, channel) = try await subscribed(.virtual(callbackQueue: .queue(queue)))
            let received = Log<String>()
            let flood = Task { try await publish(0..<250) }
            channel.bind(eventName: "created") { received.append($0.data ?? "") }
            try await flood.value
            await world.runUntil { received.count >= 250 }
            queue.sync {}
            #expect(received.elements == texts(0..<250))
            pusher.disconnect()
        }
    }

    @Test("a listener of every event gets the cached event, and a listener of its name the event for the subscription")
    func everyEvent() async throws {
        let (_, first) = try await subscribed(.virtual(), "cache-orders")
        try world.server.publish(event: "created", data: "7", to: "cache-orders")
        let (_, channel) = try await subscribed(.virtual(), "cache-orders")
        let told = Log<String>()
        channel.bind { told.append($0.eventName) }
        channel.bind(eventName: "pusher:subscription_succeeded") { told.append("by name: \($0.eventName)") }
        await world.runUntil { told.count == 2 }
        #expect(told.elements == ["created", "by name: pusher:subscription_succeeded"])
        withExtendedLifetime(first) {}
    }

    @Test("the client's listeners get each event at once, and only once")
    func listenersOfTheClient() async throws {
        let (pusher, channel) = try await subscribed()
        let told = Log<String>()
        pusher.bind { told.append("client \($0.data ?? "")") }
        try await publish(1..<3)
        #expect(told.take() == ["client {\"id\":1}", "client {\"id\":2}"])
        channel.bind(eventName: "created") { told.append("channel \($0.data ?? "")") }
        try await publish(3..<4)
        #expect(
            told.elements == [
                "channel {\"id\":1}", "channel {\"id\":2}", "client {\"id\":3}", "channel {\"id\":3}",
            ]
        )
        #expect(pusher.statistics.events.unhandled == 0)
    }

    @Test("a channel holds the newest 256 events, and the client counts and reports the others")
    func tooMany() async throws {
        let (pusher, channel) = try await subscribed()
        var errors = pusher.errors.makeAsyncIterator()
        try await publish(0..<10, "other")
        try await publish(0..<1_000)
        #expect(await next(256, of: channel.events(named: "created")) == texts(744..<1_000))
        await world.run()
        let error = await errors.next()
        #expect(error?.code == .eventsDropped && error?.channelName == "orders")
        #expect(error?.message.hasPrefix("Events dropped: 744.") == true)
        #expect(pusher.statistics.events.dropped == [.noListener: 744])
        #expect(pusher.statistics.events.unhandled == 754)
    }

    @Test("a channel holds at most 1 MiB")
    func tooLarge() async throws {
        let (pusher, channel) = try await subscribed()
        for number in 0..<20 {
            world.server.sendEvent("e", data: "\(number) " + String(repeating: "x", count: 100_000), channel: "orders")
        }
        await world.run()
        let first = await next(1, of: channel.events(named: "e")).first
        #expect(first?.hasPrefix("10 ") == true)
        await world.run()
        #expect(pusher.statistics.events.dropped == [.noListener: 10])
    }

    @Test("the client does not keep a long name of dropped events")
    func longName() async throws {
        let (pusher, channel) = try await subscribed()
        let name = String(repeating: "x", count: 201)
        for _ in 0..<300 { world.server.sendEvent(name, data: "1", channel: "orders") }
        await world.run()
        #expect(await next(1, of: channel.events(named: name)) == ["1"])
        await world.run()
        #expect(pusher.statistics.events.unhandled == 44)
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("a callback for an event that waited can end the connection, and no later event reaches it")
    func endInCallback() async throws {
        let (pusher, channel) = try await subscribed(.virtual(callbackQueue: .eventLoop))
        try await publish(0..<2)
        let received = Log<String>()
        try await world.atOnce { [engine = pusher.engine] in
            channel.bind(eventName: "created") { [weak pusher] event in
                received.append(event.data ?? "")
                pusher?.disconnect()
            }
            let event = PusherEvent(eventName: "created", channelName: "orders", data: "late")
            let recipients = engine.recipients(of: event, engine.clientListeners, channel.listeners)
            #expect(recipients.onlyCallback == nil)
            engine.deliver(event, to: recipients)
            let later = engine.recipients(of: event, engine.clientListeners, channel.listeners)
            #expect(later !== recipients && later.onlyCallback != nil)
        }
        await world.run()
        #expect(received.elements == texts(0..<1))
    }

    @Test("5 s after the server's answer, a channel drops the events that nobody wants, and holds no more")
    func end() async throws {
        let (pusher, channel) = try await subscribed()
        try await publish(0..<3)
        await world.advance(by: .milliseconds(4_999))
        #expect(pusher.statistics.events.unhandled == 0)
        await world.advance(by: .milliseconds(1))
        #expect(pusher.statistics.events.unhandled == 3)
        try await publish(3..<4)
        #expect(pusher.statistics.events.unhandled == 4)
        let events = channel.events
        try await publish(4..<5)
        #expect(await next(1, of: events) == texts(4..<5))
    }

    @Test("a listener keeps getting all events when the time ends", arguments: [true, false])
    func endWithListener(isEarly: Bool) async throws {
        let (_, channel) = try await subscribed()
        let received = Log<String>()
        if isEarly { channel.bind(eventName: "created") { received.append($0.data ?? "") } }
        try await publish(0..<3)
        if !isEarly { channel.bind(eventName: "created") { received.append($0.data ?? "") } }
        await world.advance(by: .seconds(5))
        try await publish(3..<6)
        #expect(received.elements == texts(0..<6))
    }

    @Test(
        "subscribing to the channel again holds events again",
        arguments: ["subscribe", "resubscribe", "unsubscribe"]
    )
    func again(way: String) async throws {
        let (pusher, first) = try await subscribed()
        await world.advance(by: .seconds(5))
        if way == "unsubscribe" { pusher.unsubscribe("orders") }
        if way == "resubscribe" { first.resubscribe() }
        let channel = way == "resubscribe" ? first : pusher.subscribe("orders")
        await world.run()
        await world.runUntil { channel.subscribed }
        try await publish(0..<3)
        #expect(await next(3, of: channel.events(named: "created")) == texts(0..<3))
        await world.advance(by: .seconds(5))
        #expect(try await world.leftovers(of: pusher).countdowns == 0)
        let isHolding = try await world.atOnce { [engine = pusher.engine] in engine.resources.holdsEvents }
        #expect(!isHolding)
    }

    @Test("a sequence of memberships gets the first list of members, and the changes since")
    func memberships() async throws {
        let (_, channel) = try await subscribed(.virtual(user: "ada"), "presence-room")
        let room = try #require(channel as? PusherPresenceChannel)
        let (_, bob) = try await subscribed(.virtual(user: "bob"), "presence-room")
        await world.run()
        var changes = room.memberships.makeAsyncIterator()
        guard case .replaced(let members, _, _)? = await changes.next(), case .added(let added)? = await changes.next()
        else {
            Issue.record("other changes came")
            return
        }
        #expect(members.map(\.userId) == ["ada"] && added.userId == "bob")
        withExtendedLifetime(bob) {}
    }

    @Test("without a sequence of memberships, the changes wait 5 s at most")
    func lateMemberships() async throws {
        let (_, channel) = try await subscribed(.virtual(user: "ada"), "presence-room")
        let room = try #require(channel as? PusherPresenceChannel)
        await world.advance(by: .seconds(5))
        var changes = room.memberships.makeAsyncIterator()
        let (_, bob) = try await subscribed(.virtual(user: "bob"), "presence-room")
        await world.run()
        guard case .added(let added)? = await changes.next() else {
            Issue.record("another change came")
            return
        }
        #expect(added.userId == "bob")
        withExtendedLifetime(bob) {}
    }

    @Test("disconnect() also drops the events of a channel whose time has not begun")
    func disconnectingEarly() async throws {
        let (pusher, channel) = try await subscribed()
        await world.endHolding()
        channel.holdEvents()
        try await publish(0..<3)
        pusher.disconnect()
        await world.run()
        #expect(pusher.statistics.events.unhandled == 3)
        pusher.connect()
        await world.runUntil { channel.subscribed }
        try await publish(3..<6)
        #expect(await next(3, of: channel.events(named: "created")) == texts(3..<6))
    }

    @Test("disconnect() drops the events that wait, and the next connection holds its own")
    func disconnecting() async throws {
        let (pusher, channel) = try await subscribed()
        try await publish(0..<3)
        pusher.disconnect()
        await world.run()
        let isIdle = try await world.atOnce { [engine = pusher.engine] in !engine.resources.holdsEvents }
        #expect(isIdle)
        #expect(pusher.statistics.events.unhandled == 3)
        pusher.connect()
        await world.runUntil { channel.subscribed }
        try await publish(3..<6)
        #expect(await next(3, of: channel.events(named: "created")) == texts(3..<6))
    }
}
