import ClientTestSupport
import Dispatch
import Logging
import NIOConcurrencyHelpers
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Callback queue", .limited, .overEachTransport)
struct CallbackQueueTests {
    let world = VirtualWorld()

    @Test("callbacks run on the queue that the options name, in order")
    func queue() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .queue(queue)))
        let channel = pusher.subscribe("orders")
        let received = Log<String>()
        let isOnQueue = Log<Bool>()
        channel.bind(eventName: "e") { event in
            isOnQueue.append(DispatchQueue.getSpecific(key: key) == true)
            received.append(event.data ?? "")
        }
        await world.run()
        for number in 0..<100 { try world.server.publish(event: "e", data: "\(number)", to: "orders") }
        await world.runUntil { received.count >= 100 }
        #expect(received.elements == (0..<100).map { "\($0)" })
        #expect(isOnQueue.elements.allSatisfy { $0 })
    }

    @Test("callbacks run on the main queue by default")
    @MainActor func main() async throws {
        #expect({ if case .main = PusherClientOptions().callbackQueue { true } else { false } }())
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .main))
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let isMain = Log<Bool>()
        pusher.bind { _ in isMain.append(DispatchQueue.getSpecific(key: key) == true) }
        world.server.sendEvent("e")
        await world.runUntil { isMain.count == 1 }
        #expect(isMain.elements == [true])
    }

    @Test("a callback that is bound in a callback gets the events that waited for its queue")
    func bindingInCallbacks() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .queue(queue)))
        let delegate = BindingDelegate()
        pusher.delegate = delegate
        let orders = pusher.subscribe("orders")
        let received = Log<String>()
        orders.bind(eventName: "first") { _ in
            orders.bind(eventName: "second") { received.append($0.data ?? "") }
        }
        await world.runUntil { orders.subscribed }
        queue.sync {}
        queue.suspend()
        // The delegate binds on the callback queue, after the events have arrived.
        let news = pusher.subscribe("news")
        delegate.bind = { news.bind(eventName: "headline") { received.append($0.data ?? "") } }
        await world.run()
        for number in 0..<50 { try world.server.publish(event: "headline", data: "\(number)", to: "news") }
        try world.server.publish(event: "first", data: "", to: "orders")
        for number in 50..<100 { try world.server.publish(event: "second", data: "\(number)", to: "orders") }
        await world.run()
        queue.resume()
        await world.runUntil { received.count >= 100 }
        queue.sync {}
        #expect(received.elements == (0..<100).map { "\($0)" })
    }

    private final class BindingDelegate: PusherDelegate {
        // A bare function in a generic box would get another wrapper at each read.
        private struct State: Sendable {
            var bind: (@Sendable () -> Void)?
        }
        private let state = NIOLockedValueBox(State())
        var bind: (@Sendable () -> Void)? {
            get { state.withLockedValue { $0.bind } }
            set { state.withLockedValue { $0.bind = newValue } }
        }
        // The call for the first channel may come late, after the test has set `bind` for the second channel.
        func subscribedToChannel(name: String) { if name == "news" { bind?() } }
    }

    @Test("the client does not count events without a callback as dropped", .ofWebSocketOnly)
    func nobodyBound() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let pusher = try await world.makeConnectedClient(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        let channel = pusher.subscribe("orders")
        await world.run()
        queue.sync {}
        queue.suspend()
        channel.bind(eventName: "e") { _ in }
        var events = channel.events(named: "other").makeAsyncIterator()
        var errors = pusher.errors.makeAsyncIterator()
        for _ in 0..<10 { try world.server.publish(event: "e", data: "", to: "orders") }
        await world.run()
        channel.unbindAll()
        // The client waits for the queue only after this read.
        try await world.atOnce { [server = world.server] in
            for number in 0..<100 { try server.publish(event: "other", data: "\(number)", to: "orders") }
        }
        await world.run()
        for number in 0..<100 { #expect(await events.next()?.data == "\(number)") }
        // After this time, the client would drop events that wait for the queue.
        await world.advance(by: ClientEngine.stallTime)
        queue.resume()
        queue.sync {}
        await world.run()
        world.server.sendText(#"{"event":"pusher:error","data":{"code":4301,"message":"no"}}"#)
        #expect(await errors.next()?.code == .serverError)
    }

    @Test("callbacks on the main actor run in order, and not after unbinding")
    @MainActor func observeOnMain() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .eventLoop))
        let channel = pusher.subscribe("orders")
        let elsewhere = Log<String>()
        channel.bind(eventName: "e") { elsewhere.append($0.data ?? "") }
        let screen = Screen()
        let observation = channel.observe(named: "e", on: MainActor.shared) { screen.show($0.data ?? "") }
        await world.run()
        for number in 0..<100 { try world.server.publish(event: "e", data: "\(number)", to: "orders") }
        await world.runUntil { screen.lines.count == 100 }
        #expect(screen.lines == (0..<100).map { "\($0)" })
        #expect(elsewhere.elements == screen.lines)

        // The test runs on the main actor, so the callback waits while the test unbinds it.
        try world.server.publish(event: "e", data: "late", to: "orders")
        var isMainQueueThrough = false
        observation.cancel()
        let end = channel.observe(named: "end", on: MainActor.shared) { _ in isMainQueueThrough = true }
        try world.server.publish(event: "end", data: "", to: "orders")
        await world.runUntil { isMainQueueThrough }
        #expect(screen.lines.count == 100)
        #expect(elsewhere.count == 101)
        end.cancel()
    }

    @MainActor
    private final class Screen {
        private(set) var lines: [String] = []
        func show(_ line: String) { lines.append(line) }
    }

    @Test("a blocked queue keeps the newest callbacks and does not delay sequences")
    func blockedQueue() async throws {
        let queue = DispatchQueue(label: "blocked")
        let pusher = try await world.makeConnectedClient(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        let delegate = RecordingDelegate()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        await world.run()
        await world.runUntil { delegate.subscriptions.count == 1 }
        queue.sync {}
        queue.suspend()
        let received = Log<String>()
        channel.bind(eventName: "e") { received.append($0.data ?? "") }
        var events = channel.events(named: "e").makeAsyncIterator()
        var errors = pusher.errors.makeAsyncIterator()
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        for number in 0..<100 { try world.server.publish(event: "e", data: "\(number)", to: "orders") }
        // The client waits for the queue only for a short time.
        await world.advance(by: ClientEngine.stallTime)
        for number in 0..<100 { #expect(await events.next()?.data == "\(number)") }
        world.server.sendPing()
        await world.advance(by: .seconds(31))
        #expect(pusher.connection.connectionState == .connected)
        #expect(await errors.next()?.code == .connectionClosed)
        #expect(await errors.next()?.code == .eventsDropped)
        queue.resume()
        let error = await errors.next()
        #expect(error?.code == .eventsDropped)
        #expect(error?.message.contains("Callbacks dropped") == true)
        #expect(received.elements == (90..<100).map { "\($0)" })
        // The client dropped no change of state, and no outcome of a subscription.
        #expect(delegate.states.elements == [.disconnected, .reconnecting, .connecting, .connected])
        #expect(delegate.subscriptions.count == 2)
    }

    @Test("callbacks of all kinds that wait for their queue keep their order")
    func orderOfKinds() async throws {
        let queue = DispatchQueue(label: "suspended")
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .queue(queue)))
        let delegate = OrderDelegate()
        pusher.delegate = delegate
        pusher.bind { delegate.calls.append($0.eventName) }
        queue.sync {}
        queue.suspend()
        world.server.sendEvent("before the loss")
        await loseConnection()
        // Before this event, only changes of state wait for the queue.
        world.server.sendEvent("after the loss")
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        // Before this event, the outcome of a subscription waits for the queue.
        world.server.sendEvent("after the subscription")
        await loseConnection()
        world.server.sendEvent("last")
        await world.run()
        queue.resume()
        queue.sync {}
        let loss = ["disconnected", "reconnecting", "connecting", "connected"]
        var expected = ["before the loss"] + loss
        expected += ["after the loss", "subscribed", "after the subscription"] + loss
        expected += ["subscribed", "last"]
        #expect(delegate.calls.elements.filter { !$0.hasPrefix("pusher:") } == expected)
    }

    private func loseConnection() async {
        await world.run()
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
    }

    private final class OrderDelegate: PusherDelegate {
        let calls = Log<String>()
        func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
            calls.append(new.stringValue())
        }
        func subscribedToChannel(name: String) { calls.append("subscribed") }
    }

    @Test("callbacks that wait for their queue do not run after unsubscribe() has returned")
    func unsubscribeWithWaitingCallbacks() async throws {
        let queue = DispatchQueue(label: "blocked")
        let pusher = try await world.makeConnectedClient(.virtual(callbackQueue: .queue(queue)))
        let calls = Log<String>()
        let channel = pusher.subscribe("orders")
        channel.bind(eventName: "e") { _ in calls.append("event") }
        channel.onSubscriptionCountChanged = { _ in calls.append("count") }
        await world.run()
        queue.sync {}
        queue.suspend()
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        try world.server.publish(event: "e", data: "{}", to: "orders")
        await world.run()
        pusher.unsubscribe("orders")
        queue.resume()
        queue.sync {}
        #expect(calls.elements.isEmpty)
    }

    @Test("the client logs only once that a queue does not run")
    func queueThatNeverRuns() async throws {
        let queue = DispatchQueue(label: "stopped")
        queue.suspend()
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(
            .virtual(callbackQueue: .queue(queue), logger: lines.logger(.warning))
        )
        for _ in 1...3 {
            pusher.bind { _ in }
            world.server.sendEvent("e")
            await world.advance(by: .seconds(6))
        }
        #expect(lines.messages.count { $0.contains("dispatchMain()") } == 1)
        queue.resume()
    }
}

@Suite("Sequences", .limited, .overEachTransport)
struct SequenceTests {
    let world = VirtualWorld()

    @Test("a slow consumer gets the newest events, and the client reports drops once for each stall")
    func slowConsumer() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(sequenceBuffer: 3)))
        var errors = pusher.errors.makeAsyncIterator()
        let events = pusher.events(named: "e")
        var iterator = events.makeAsyncIterator()
        for spell in 1...2 {
            for number in 0..<10 { world.server.sendEvent("e", data: "\(number)") }
            await world.advance(by: ClientEngine.stallTime)
            #expect(events.droppedCount == spell * 7)
            for number in 7..<10 { #expect(await iterator.next()?.data == "\(number)") }
            #expect(await errors.next()?.code == .eventsDropped)
        }
    }

    @Test("a sequence keeps events before its first iterator and between two iterators")
    func madeIsRegistered() async throws {
        let pusher = try await world.makeConnectedClient()
        let events = pusher.events
        for number in 1...4 { world.server.sendEvent("e", data: "\(number)") }
        await world.run()
        for await event in events.prefix(2) { #expect(["1", "2"].contains(event.data)) }
        for await event in events.prefix(2) { #expect(["3", "4"].contains(event.data)) }
    }

    @Test("the client forgets a sequence when the sequence and its iterator are released")
    func dropped() async throws {
        let pusher = try await world.makeConnectedClient()
        let registry = pusher.engine.clientListeners
        var events: EventSequence<PusherEvent>? = pusher.events
        #expect(!registry.isEmpty)
        world.server.sendEvent("e")
        await world.run()
        var iterator = events?.makeAsyncIterator()
        events = nil
        #expect(await iterator?.next() != nil)
        #expect(!registry.isEmpty)
        iterator = nil
        #expect(registry.isEmpty)
    }

    @Test("an iteration ends if its task is cancelled or the channel is unsubscribed")
    func ends() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        let started = Log<Int>()
        let tasks = (1...2).map { number in
            Task { [events = channel.events(named: "e")] in
                started.append(number)
                for await _ in events {}
            }
        }
        await world.runUntil { started.count == 2 }
        tasks[0].cancel()
        await tasks[0].value
        pusher.unsubscribe("orders")
        try await world.complete { await tasks[1].value }
        for await _ in channel.events { Issue.record("a retired channel got an event") }
    }

    @Test("the sequence of statuses begins with the current status, and contains each change and the reason of a loss")
    func statuses() async throws {
        let pusher = try await world.makeConnectedClient()
        var statuses = pusher.statuses.makeAsyncIterator()
        #expect(await statuses.next() == pusher.connection.status)
        world.server.dropConnections()
        await world.run()
        guard case .waiting(let until, attempt: 1, let reason) = await statuses.next() else {
            Issue.record("no wait was reported")
            return
        }
        #expect(until == world.now + .seconds(1))
        #expect(reason.code == .connectionClosed)
        await world.advance(by: .seconds(1))
        #expect(await statuses.next() == .connecting)
        #expect(await statuses.next() == pusher.connection.status)
    }
}
