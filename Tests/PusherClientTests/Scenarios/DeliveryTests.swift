import Dispatch
import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Delivery", .limited, .overEachTransport)
struct DeliveryTests {
    struct Order: Codable, Equatable, Sendable {
        var id: Int
    }

    let world = VirtualWorld()

    private func subscribed(_ name: String = "orders") async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe(name)
        await world.run()
        try #require(channel.subscribed)
        return (pusher, channel)
    }

    @Test("an event reaches the callbacks and sequences of its name, its channel and the client")
    func everyListener() async throws {
        let (pusher, channel) = try await subscribed()
        let log = Log<String>()
        pusher.bind { log.append("client: \($0.eventName)") }
        pusher.bind(eventName: "created") { log.append("client, by name: \($0.eventName)") }
        channel.bind { log.append("channel: \($0.eventName)") }
        channel.bind(eventName: "created") { log.append("channel, by name: \($0.eventName)") }
        channel.bind(eventName: "deleted") { log.append("other name: \($0.eventName)") }
        let sequences = [
            pusher.events, pusher.events(named: "created"), channel.events, channel.events(named: "created"),
        ]
        try world.server.publish(event: "created", data: #"{"id":1}"#, to: "orders")
        await world.run()
        #expect(
            log.elements == [
                "client: created", "client, by name: created", "channel: created", "channel, by name: created",
            ]
        )
        for sequence in sequences {
            var iterator = sequence.makeAsyncIterator()
            let event = await iterator.next()
            #expect(event?.eventName == "created")
            #expect(event?.channelName == "orders")
            #expect(event?.data == #"{"id":1}"#)
            #expect(event?.userId == nil)
        }
    }

    @Test(
        "data is the string, or the JSON text of another value, and property(withKey:) returns the value"
    )
    func data() async throws {
        let (_, channel) = try await subscribed()
        let events = Log<PusherEvent>()
        channel.bind { events.append($0) }
        for data in [#""plain \u00e9 text""#, #"{"a":[1]}"#, "[1]", "3.5", "true", "null", #""""#] {
            world.server.sendText(#"{"event":"e","channel":"orders","data":\#(data),"extra":7}"#)
        }
        world.server.sendText(#"{"event":"e","channel":"orders","user_id":5}"#)
        await world.run()
        #expect(
            events.elements.map(\.data) == ["plain é text", #"{"a":[1]}"#, "[1]", "3.5", "true", nil, "", nil]
        )
        try #require(events.count == 8)
        #expect(events.elements[1].property(withKey: "data") as? [String: [Int]] == ["a": [1]])
        #expect(events.elements[0].property(withKey: "data") as? String == "plain é text")
        #expect(events.elements[0].property(withKey: "extra") as? Int == 7)
        #expect(events.elements[0].property(withKey: "channel") as? String == "orders")
        #expect(events.elements[0].property(withKey: "none") == nil)
        #expect(events.elements.last?.userId == "5")
    }

    @Test("the client delivers the events of one read in order, with other messages between them")
    func oneRead() async throws {
        let (pusher, channel) = try await subscribed()
        let log = Log<String>()
        channel.bind { [weak pusher] event in
            log.append("\(event.eventName) \(event.channelName ?? "")")
            guard event.eventName == "first" else { return }
            // The server's answer to this subscription arrives after the read.
            pusher?.subscribe("others").bind { log.append("\($0.eventName) \($0.channelName ?? "")") }
        }
        let errors = pusher.errors
        let count = #"{"subscription_count":3}"#
        let texts = [
            #"{"event":"first","channel":"orders"}"#,
            #"{"event":"second","channel":"orders"}"#,
            // The client delivers this event by an effect, which later ordinary events must not overtake.
            #"{"event":"pusher_internal:subscription_count","channel":"orders","data":\#(count)}"#,
            #"{"event":"third","channel":"orders"}"#,
            "no message",
            #"{"event":"fourth","channel":"orders"}"#,
        ]
        try await world.atOnce { [server = world.server] in
            for text in texts { server.sendText(text) }
        }
        await world.run()
        let delivered = ["first", "second", "pusher:subscription_count", "third", "fourth"].map { "\($0) orders" }
        #expect(log.elements == delivered + ["pusher:subscription_succeeded others"])
        var iterator = errors.makeAsyncIterator()
        #expect(await iterator.next()?.code == .malformedMessage)
    }

    @Test("typed sequences and callbacks decode their values, and leave out values that do not decode")
    func typed() async throws {
        let (pusher, channel) = try await subscribed()
        let errors = pusher.errors
        let called = Log<Order>()
        let observation = channel.observe(named: "created", as: Order.self) { called.append($0.value) }
        let orders = channel.values(named: "created", as: Order.self)
        for data in [#"{"id":1}"#, #"{"id":"two"}"#, "no JSON", #"{"id":3}"#] {
            try world.server.publish(event: "created", data: data, to: "orders")
        }
        await world.run()
        #expect(called.elements == [Order(id: 1), Order(id: 3)])
        var iterator = orders.makeAsyncIterator()
        #expect(await iterator.next() == Order(id: 1))
        #expect(await iterator.next() == Order(id: 3))
        await world.run()
        var reported = errors.makeAsyncIterator()
        for _ in 1...4 { #expect(await reported.next()?.code == .undecodableData) }
        observation.cancel()
    }

    @Test(
        "the log warns of data that does not decode, at most once a minute for each event"
    )
    func typedInTheLog() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.warning)))
        let channel = pusher.subscribe("orders")
        let observations = ["created", "changed"].map { channel.observe(named: $0, as: Order.self) { _ in } }
        defer { for observation in observations { observation.cancel() } }
        await world.runUntil { channel.subscribed }
        for _ in 1...5 { try world.server.publish(event: "created", data: "{}", to: "orders") }
        try world.server.publish(event: "changed", data: "{}", to: "orders")
        await world.run()
        #expect(lines.messages.count == 2)
        #expect(lines.messages.first?.contains(#""created" not decoded: it does not fit 'Order', because "#) == true)
        #expect(lines.messages.first?.contains("is missing.") == true)
        #expect(lines.messages.first?.contains("orders") == true)
        #expect(lines.messages.last?.contains("changed") == true)
        await world.advance(by: .seconds(60))
        try world.server.publish(event: "created", data: "{}", to: "orders")
        await world.run()
        #expect(lines.messages.count == 3)
        #expect(lines.messages.last?.contains(#""pusher.omitted": 4"#) == true)
    }

    @Test("events of channels without a subscription reach no listener")
    func unknownChannel() async throws {
        let (pusher, channel) = try await subscribed()
        let events = Log<String>()
        pusher.bind { events.append($0.channelName ?? "none") }
        channel.bind { _ in events.append("channel") }
        pusher.unsubscribe("orders")
        for name in ["orders", "news"] { world.server.sendEvent("e", channel: name) }
        world.server.sendEvent("e")
        await world.run()
        #expect(events.elements == ["none"])
    }

    @Test("the client calls no callback with an internal event, even if it does not know the event")
    func internalEvents() async throws {
        let (pusher, channel) = try await subscribed()
        let events = Log<String>()
        pusher.bind { events.append($0.eventName) }
        for event in ["pusher_internal:new", "pusher:pong", "pusher:cache_miss"] {
            world.server.sendEvent(event, channel: "orders")
        }
        await world.run()
        #expect(events.elements == ["pusher:cache_miss"])
        #expect(channel.subscribed)
    }

    @Test("the client calls no callback after unbind() has returned, even during an event")
    func unbindDuringDelivery() async throws {
        let (pusher, channel) = try await subscribed()
        let log = Log<String>()
        let second = Log<String>()
        channel.bind(eventName: "e") { _ in
            log.append("first")
            for id in second.elements { channel.unbind(eventName: "e", callbackId: id) }
        }
        second.append(channel.bind(eventName: "e") { _ in log.append("second") })
        let third = channel.bind(eventName: "e") { _ in log.append("third") }
        world.server.sendEvent("e", channel: "orders")
        await world.run()
        #expect(log.take() == ["first", "third"])
        channel.unbind(eventName: "e", callbackId: third)
        channel.unbindAll(forEventName: "e")
        channel.bind { _ in log.append("all") }
        channel.unbindAll()
        let id = pusher.bind { _ in log.append("client") }
        pusher.unbind(callbackId: id)
        pusher.bind { _ in log.append("client") }
        pusher.unbindAll()
        world.server.sendEvent("e", channel: "orders")
        await world.run()
        #expect(log.elements.isEmpty)
    }

    @Test("the client keeps the order of events and changes of state")
    func order() async throws {
        final class Observer: PusherDelegate {
            let log = Log<String>()
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
                log.append(new.stringValue())
            }
            func subscribedToChannel(name: String) { log.append("subscribed") }
        }
        let observer = Observer()
        let (pusher, channel) = try await subscribed()
        pusher.delegate = observer
        channel.bind(eventName: "e") { observer.log.append($0.data ?? "") }
        for number in 1...3 { world.server.sendEvent("e", data: "\(number)", channel: "orders") }
        await world.run()
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        world.server.sendEvent("e", data: "4", channel: "orders")
        await world.run()
        #expect(
            observer.log.elements == [
                "1", "2", "3", "disconnected", "reconnecting", "connecting", "connected", "subscribed", "4",
            ]
        )
    }

    @Test("the client keeps the order of events and a pusher:error (PusherSwift does not)")
    func errorsInOrder() async throws {
        final class Observer: PusherDelegate {
            let log = Log<String>()
            func receivedError(error: PusherError) { log.append(error.message) }
        }
        let observer = Observer()
        let queue = PusherClientOptions.CallbackQueue.queue(DispatchQueue(label: "callbacks"))
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: queue))
        pusher.delegate = observer
        pusher.bind { observer.log.append($0.data ?? "") }
        for number in 1...20 {
            world.server.sendEvent("e", data: "\(number)")
            world.server.sendText(#"{"event":"pusher:error","data":{"message":"error \#(number)"}}"#)
        }
        await world.runUntil { observer.log.count == 40 }
        #expect(observer.log.elements == (1...20).flatMap { ["\($0)", "error \($0)"] })
    }

    @Test("the client calls its own callbacks before the channel's, in the order of binding (PusherSwift: any order)")
    func handlersInOrder() async throws {
        let (pusher, channel) = try await subscribed()
        let calls = Log<String>()
        for number in 1...20 {
            channel.bind(eventName: "e") { _ in calls.append("channel \(number)") }
            pusher.bind { _ in calls.append("client \(number)") }
        }
        world.server.sendEvent("e", channel: "orders")
        await world.run()
        #expect(calls.elements == ["client", "channel"].flatMap { whose in (1...20).map { "\(whose) \($0)" } })
    }

    @Test("callbacks and sequences get 1,000 events in the order of the server")
    func burst() async throws {
        let (_, channel) = try await subscribed()
        let events = channel.events(named: "e")
        let called = Log<String>()
        channel.bind(eventName: "e") { called.append($0.data ?? "") }
        for number in 0..<1_000 { try world.server.publish(event: "e", data: "\(number)", to: "orders") }
        await world.run()
        let expected = (0..<1_000).map { "\($0)" }
        #expect(called.elements == expected)
        var received: [String] = []
        var iterator = events.makeAsyncIterator()
        for _ in 0..<1_000 { received.append(await iterator.next()?.data ?? "") }
        #expect(received == expected)
    }

    @Test("the call stack of a callback does not grow with the number of events")
    func callDepth() {
        let depths = Log<Int>()
        let budget = BufferBudget(count: 1, size: 1, of: TotalBudget(size: 1))
        let dispatcher = CallbackDispatcher(
            queue: .eventLoop,
            budget,
            eventLoop: world.loop,
            logger: .quiet,
            changes: ChangeCount(),
            epochs: CallbackEpochs()
        )
        let binding = Binding("1", dispatcher) { _ in
            var marker: UInt8 = 0
            depths.append(withUnsafeMutablePointer(to: &marker) { Int(bitPattern: $0) })
        }
        let event = PusherEvent(eventName: "e")
        for _ in 1...10_000 { binding.call(event) }
        #expect(Set(depths.elements).count == 1)
    }

    @Test("the call stack does not grow each time that a listener has caught up")
    func caughtUpDepth() {
        let depths = Log<Int>()
        let budget = TotalBudget(size: 1)
        budget.onCaughtUp {
            var marker: UInt8 = 0
            depths.append(withUnsafeMutablePointer(to: &marker) { Int(bitPattern: $0) })
        }
        for _ in 1...10_000 { budget.tellCaughtUp() }
        #expect(Set(depths.elements).count == 1)
    }

    @Test("an app can create an event to test its callbacks")
    func madeByHand() throws {
        let event = PusherEvent(eventName: "created", channelName: "orders", data: #"{"id":7}"#, userId: "ada")
        #expect(try event.decode(as: [String: Int].self) == ["id": 7])
        #expect(event.property(withKey: "data") as? String == #"{"id":7}"#)
        #expect(event.eventName == "created" && event.channelName == "orders" && event.userId == "ada")
        #expect(PusherEvent(eventName: "created").data == nil)
    }
}
