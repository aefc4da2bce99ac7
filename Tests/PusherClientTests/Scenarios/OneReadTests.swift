import Dispatch
import Foundation
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests of calls that callbacks and other threads make during a read. Such a call takes effect with the next event.
@Suite("Events of one read", .limited, .overEachTransport)
struct OneReadTests {
    let world = VirtualWorld()
    let log = Log<String>()

    private func subscribed(_ names: String..., options: PusherClientOptions = .virtual()) async throws -> Pusher {
        let pusher = try await world.makeConnectedClient(options)
        for name in names { pusher.subscribe(name) }
        await world.run()
        return pusher
    }

    private func channel(_ name: String, of pusher: Pusher) throws -> PusherChannel {
        try #require(pusher.connection.channels.find(name: name))
    }

    /// Sends events that the client gets in one read.
    private func send(_ events: [(name: String, channel: String)]) async throws {
        try await world.atOnce { [server = world.server] in
            for event in events { server.sendEvent(event.name, channel: event.channel) }
        }
        await world.run()
    }

    private func send(_ name: String, count: Int) async throws {
        try await send(Array(repeating: (name, "orders"), count: count))
    }

    /// Makes a call on another thread, while this thread waits.
    private static func onAnotherThread(_ call: @escaping @Sendable () -> Void) {
        let isDone = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            call()
            isDone.signal()
        }
        isDone.wait()
    }

    /// Makes a call in the callback of the second event, directly or on another thread while the callback waits.
    private func atSecondEvent(
        of channel: PusherChannel,
        isOnLoop: Bool,
        _ call: @escaping @Sendable () -> Void
    ) {
        let count = Log<Void>()
        channel.bind(eventName: "e") { _ in
            count.append(())
            guard count.count == 2 else { return }
            if isOnLoop { call() } else { Self.onAnotherThread(call) }
        }
    }

    @Test("a callback that is bound during a read gets the next event", arguments: [true, false])
    func bind(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { [log] in
            orders.bind(eventName: "e") { _ in log.append("channel") }
            pusher.bind { _ in log.append("client") }
        }
        try await send("e", count: 3)
        #expect(log.elements == ["client", "channel"])
    }

    @Test("a callback that the client's callback binds to the channel gets the next event", arguments: [true, false])
    func bindBetweenPhases(hasListener: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        if hasListener { orders.bind(eventName: "e") { _ in } }
        let isBound = Log<Void>()
        pusher.bind { [log] _ in
            defer { isBound.append(()) }
            if isBound.count == 0 { orders.bind(eventName: "e") { _ in log.append("channel") } }
        }
        try await send("e", count: 3)
        // The first listener of the channel also gets the current event, because it has waited for a listener.
        #expect(log.count == (hasListener ? 2 : 3))
    }

    @Test("a sequence that the app creates during a read begins with the next event", arguments: [true, false])
    func sequence(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        let sequences = Log<EventSequence<PusherEvent>>()
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { sequences.append(orders.events) }
        try await send([("e", "orders"), ("e", "orders"), ("e", "orders"), ("last", "orders")])
        var iterator = try #require(sequences.take().first).makeAsyncIterator()
        #expect(await iterator.next()?.eventName == "e")
        #expect(await iterator.next()?.eventName == "last")
    }

    @Test(
        "a sequence keeps the events of a read that came before the channel was unsubscribed",
        arguments: [true, false]
    )
    func endOfSequence(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        var iterator = orders.events.makeAsyncIterator()
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { pusher.unsubscribe("orders") }
        try await send([("first", "orders"), ("e", "orders"), ("e", "orders"), ("late", "orders")])
        var names: [String] = []
        while let event = await iterator.next() { names.append(event.eventName) }
        #expect(names == ["first", "e", "e"])
    }

    @Test("a callback that is unbound during a read gets no further events", arguments: [true, false])
    func unbind(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        let id = orders.bind(eventName: "e") { [log] _ in log.append("e") }
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { orders.unbind(eventName: "e", callbackId: id) }
        try await send("e", count: 5)
        #expect(log.elements == ["e", "e"])
        #expect(pusher.statistics.events.delivered == 5)
    }

    @Test("a channel that is unsubscribed during a read gets no further events", arguments: [true, false])
    func unsubscribe(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders", "news")
        let orders = try channel("orders", of: pusher)
        orders.bind { [log] in log.append($0.eventName) }
        pusher.bind { [log] in log.append("client \($0.channelName ?? "")") }
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { pusher.unsubscribe("orders") }
        try await send([("e", "orders"), ("e", "orders"), ("e", "orders"), ("e", "news")])
        #expect(log.elements == ["client orders", "e", "client orders", "e", "client news"])
        #expect(pusher.connection.channels.find(name: "orders") == nil)
    }

    @Test("a client that disconnects during a read delivers no more events", arguments: [true, false])
    func disconnect(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        orders.bind { [log] in log.append($0.eventName) }
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { pusher.disconnect() }
        try await send("e", count: 5)
        #expect(log.elements == ["e", "e"])
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(pusher.statistics.events.dropped == [.notConnected: 3])
    }

    @Test("a channel that is subscribed again during a read gets later events", arguments: [true, false])
    func subscribeAnew(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        orders.bind { [log] _ in log.append("old") }
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { [log] in
            pusher.unsubscribe("orders")
            pusher.subscribe("orders").bind(eventName: "e") { _ in log.append("new") }
        }
        try await send("e", count: 3)
        #expect(log.elements.prefix(2) == ["old", "old"])
        #expect(!log.elements.dropFirst(2).contains("old"))
        _ = log.take()
        try await send("e", count: 2)
        #expect(log.elements == ["new", "new"])
    }

    @Test(
        "a call in a callback takes effect after the callback returns, and before the next event",
        arguments: [true, false]
    )
    func effectsOfCalls(isOnLoop: Bool) async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        let delegate = FailureDelegate(log: log)
        pusher.delegate = delegate
        orders.bind { [log] _ in log.append("event") }
        atSecondEvent(of: orders, isOnLoop: isOnLoop) { [log] in
            log.append("call")
            pusher.subscribe("no channel")
            log.append("return")
        }
        try await send("e", count: 3)
        #expect(log.elements == ["event", "event", "call", "return", "no channel failed", "event"])
        withExtendedLifetime(delegate) {}
    }

    @Test("the client counts an event of a channel as not subscribed after the channel is unsubscribed")
    func unsubscribedChannel() async throws {
        let pusher = try await subscribed("orders")
        try channel("orders", of: pusher).bind { [log] in log.append($0.eventName) }
        try await send("e", count: 1)
        pusher.engine.step { state, now in state.machine.unsubscribe("orders", now: now, into: &state.pending) }
        await world.run()
        world.server.sendText(#"{"event":"e","channel":"orders","data":""}"#)
        await world.run()
        #expect(log.elements == ["e"])
        #expect(pusher.statistics.events.dropped == [.notSubscribed: 1])
    }

    @Test("a call takes effect before an event that arrives after the call")
    func effectsBeforeRead() async throws {
        let pusher = try await subscribed("orders")
        try channel("orders", of: pusher).bind { [log] _ in log.append("event") }
        let delegate = FailureDelegate(log: log)
        pusher.delegate = delegate
        try await world.atOnce { [server = world.server] in
            server.sendEvent("e", channel: "orders")
            pusher.subscribe("no channel")
        }
        await world.run()
        #expect(log.elements == ["no channel failed", "event"])
        withExtendedLifetime(delegate) {}
    }

    private final class FailureDelegate: PusherDelegate {
        private let log: Log<String>

        init(log: Log<String>) { self.log = log }

        func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {
            log.append("\(name) failed")
        }
    }

    @Test("unbinding a closure releases the closure at once, not at the next event")
    func closure() async throws {
        final class Owned: Sendable {}
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        weak var weakly: Owned?
        let id: String
        do {
            let owned = Owned()
            weakly = owned
            id = orders.bind { _ in _ = owned }
        }
        try await send("e", count: 2)
        #expect(weakly != nil)
        orders.unbind(callbackId: id)
        #expect(weakly == nil)
    }

    @Test("unsubscribing releases a channel and its listeners at once, not at the next event")
    func channelReleased() async throws {
        final class Owned: Sendable {}
        let pusher = try await subscribed("orders")
        weak var owned: Owned?
        weak var orders: PusherChannel?
        weak var listeners: ListenerRegistry?
        weak var event: PusherEvent?
        func listen() async throws {
            let (channel, object) = (try channel("orders", of: pusher), Owned())
            (owned, orders, listeners) = (object, channel, channel.listeners)
            channel.bind { _ in _ = object }
            let events = channel.events
            try await send("e", count: 2)
            var iterator = events.makeAsyncIterator()
            event = await iterator.next()
        }
        try await listen()
        pusher.unsubscribe("orders")
        await world.run()
        #expect(owned == nil)
        #expect(orders == nil)
        #expect(listeners == nil)
        #expect(event == nil)
    }

    @Test("releasing a sequence releases the sequence's events at once, not at the next event")
    func sequenceReleased() async throws {
        let pusher = try await subscribed("orders")
        let orders = try channel("orders", of: pusher)
        struct Received: Sendable {
            weak let event: PusherEvent?
        }
        let received = Log<Received>()
        orders.bind { received.append(Received(event: $0)) }
        var events: EventSequence<PusherEvent>? = orders.events
        try await send("e", count: 1)
        #expect(received.elements.first?.event != nil)
        #expect(events != nil)
        events = nil
        #expect(received.elements.map(\.event) == [nil])
    }

    @Test("the client delivers all events of one read in order, even if some are not ordinary", arguments: 0..<50)
    func mixedReads(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let pusher = try await subscribed("orders", "news")
        pusher.bind { [log] in log.append("\($0.eventName) \($0.channelName ?? "") \($0.data ?? "")") }
        let kinds: [@Sendable (Int) -> (text: String, delivered: String?)] = [
            { (#"{"event":"e","channel":"orders","data":"\#($0)"}"#, "e orders \($0)") },
            { (#"{"event":"e","channel":"news","data":"\#($0)"}"#, "e news \($0)") },
            { (#"{"channel":"news","data":"\#($0)","event":"f"}"#, "f news \($0)") },
            { (#"{"event":"e","data":"\#($0)"}"#, "e  \($0)") },
            // The data is a number, or the name has an escape, so the parser takes a slower path.
            { (#"{"event":"e","channel":"orders","data":\#($0)}"#, "e orders \($0)") },
            { (#"{"event":"\u0065","channel":"orders","data":"\#($0)"}"#, "e orders \($0)") },
            {
                (
                    #"{"event":"pusher_internal:subscription_count","channel":"news","data":{"subscription_count":\#($0)}}"#,
                    #"pusher:subscription_count news {"subscription_count":\#($0)}"#
                )
            },
            { _ in (#"{"event":"pusher:ping"}"#, nil) },
            { _ in (#"{"event":"e","channel":"unknown"}"#, nil) },
            { _ in ("no message", nil) },
        ]
        let messages = (0..<200).map { number in
            // The list contains long runs of ordinary events.
            kinds[Int.random(in: 0..<(number % 20 < 12 ? 3 : kinds.count), using: &random)](number)
        }
        var rest = messages[...]
        while !rest.isEmpty {
            let read = rest.prefix(Int.random(in: 1...40, using: &random))
            rest = rest.dropFirst(read.count)
            try await world.atOnce { [server = world.server] in
                for message in read { server.sendText(message.text) }
            }
            await world.run()
        }
        #expect(log.elements == messages.compactMap(\.delivered))
    }

    @Test("statistics that a callback reads include the event of the callback")
    func statistics() async throws {
        let pusher = try await subscribed("orders")
        let counts = Log<[Int]>()
        let before = pusher.statistics
        try channel("orders", of: pusher).bind { [weak pusher] _ in
            guard let now = pusher?.statistics else { return }
            counts.append([
                now.messages.received - before.messages.received, now.events.received - before.events.received,
                now.events.delivered - before.events.delivered, now.events.unhandled,
            ])
        }
        try await send([("e", "orders"), ("f", "orders"), ("e", "orders")])
        #expect(counts.elements == [[1, 1, 1, 0], [2, 2, 2, 0], [3, 3, 3, 0]])
        #expect(pusher.statistics.events.delivered - before.events.delivered == 3)
    }

    @Test("the client keeps a limited number of routes, and delivers events without a route too")
    func eviction() async throws {
        let pusher = try await subscribed("orders")
        let count = RouteTable.limit + 100
        let received = Log<String>()
        try channel("orders", of: pusher).bind { received.append($0.eventName) }
        let names = (0..<count).map { "event \($0)" }
        try await send(names.map { ($0, "orders") })
        #expect(received.take() == names)
        let routes = try await world.atOnce { [engine = pusher.engine] in engine.loopState.value.routes.count }
        #expect(routes == 100)
        try await send([("event 0", "orders"), ("event 1", "orders")])
        #expect(received.elements == ["event 0", "event 1"])
    }

    @Test("the client delivers events whose name is too long for a route")
    func longName() async throws {
        let pusher = try await subscribed("orders")
        let names = [200, 201, 70_000].map { String(repeating: "e", count: $0) }
        try channel("orders", of: pusher).bind { [log] in log.append($0.eventName) }
        try await send(names.map { ($0, "orders") })
        #expect(log.elements == names)
        let routes = try await world.atOnce { [engine = pusher.engine] in engine.loopState.value.routes.count }
        #expect(routes == 1)
    }

    @Test("names whose bytes are equal when joined have different routes")
    func joinedNames() async throws {
        let pusher = try await subscribed("b", "ab")
        for name in ["b", "ab"] {
            try channel(name, of: pusher).bind { [log] in log.append("\(name): \($0.eventName)") }
        }
        try await send([("ca", "b"), ("c", "ab"), ("ca", "b"), ("c", "ab")])
        #expect(log.elements == ["b: ca", "ab: c", "b: ca", "ab: c"])
    }

    @Test("callbacks on a queue get the events of a read in order")
    func oneHop() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let pusher = try await subscribed("orders", options: .virtual(callbackQueue: .queue(queue)))
        let orders = try channel("orders", of: pusher)
        await world.run()
        queue.sync {}
        orders.bind(eventName: "e") { [log] in log.append($0.data ?? "") }
        do {
            queue.suspend()
            defer { queue.resume() }
            try await world.atOnce { [server = world.server] in
                for number in 0..<200 {
                    server.sendText(#"{"event":"e","channel":"orders","data":"\#(number)"}"#)
                }
            }
            await world.run()
        }
        // This block runs after the first block of the callbacks.
        queue.sync {}
        #expect(log.elements == (0..<200).map { "\($0)" })
    }
}
