import ClientTestSupport
import Dispatch
import NIOCore
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// The client stops reading from the socket while a listener's buffer is full and the listener makes progress.
@Suite("Listeners that the client waits for", .limited, .overEachTransport)
struct AwaitedListenerTests {
    let world = VirtualWorld()

    private func subscribed(_ options: PusherClientOptions) async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    /// Publishes events one by one, each in a separate read.
    private func publish(_ numbers: ClosedRange<Int>, bytes: Int = 0) async throws {
        let filler = String(repeating: " ", count: bytes)
        for number in numbers {
            try world.server.publish(event: "e", data: "\(number)\(filler)", to: "orders")
            await world.run()
        }
    }

    private func isPaused(_ pusher: Pusher) async throws -> Bool {
        try await world.atOnce { [engine = pusher.engine] in engine.loopState.value.awaited.pause != nil }
    }

    /// Takes `count` elements from a sequence, and returns their numbers.
    private func take(_ count: Int, from iterator: inout EventSequence<PusherEvent>.AsyncIterator) async -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<count { numbers.append(await iterator.next()?.data.flatMap { Int($0) } ?? 0) }
        await world.run()
        return numbers
    }

    @Test("the client waits for a consumer, and continues to read when half of the buffer is empty")
    func movingConsumer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        var events = channel.events.makeAsyncIterator()
        try await publish(1...20)
        #expect(try await isPaused(pusher))
        #expect(pusher.statistics.events.delivered == 5)
        #expect(await take(2, from: &events) == [1, 2])
        #expect(pusher.statistics.events.delivered == 5)
        // After this element, half of the buffer is empty, so the client reads more events.
        #expect(await take(1, from: &events) == [3])
        #expect(pusher.statistics.events.delivered > 5)
        #expect(await take(17, from: &events) == Array(4...20))
        #expect(try await !isPaused(pusher))
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("large events fill a buffer by their bytes before the number of events reaches its limit")
    func bytes() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(listenerBufferSize: 10_000)))
        let events = channel.events
        try await publish(1...20, bytes: 2_000)
        #expect(try await isPaused(pusher))
        await world.advance(by: ClientEngine.stallTime)
        await world.run()
        #expect(events.droppedCount == 16)
        #expect(pusher.statistics.events.delivered == 20)
    }

    @Test("the buffer keeps an event that is larger than its limit")
    func largerThanBuffer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(listenerBufferSize: 100)))
        let events = channel.events
        try await publish(1...3, bytes: 2_000)
        await world.advance(by: ClientEngine.stallTime)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.data?.hasPrefix("3 ") == true)
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 2])
    }

    @Test("a sequence that nobody reads delays other listeners once, for less than 100 ms")
    func deadConsumer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let unread = channel.events
        let received = Log<Int>()
        channel.bind { received.append($0.data.flatMap { Int($0) } ?? 0) }
        try await publish(1...100)
        #expect(received.elements == Array(1...5))
        #expect(unread.droppedCount == 0)
        await world.advance(by: .milliseconds(89))
        #expect(received.count == 5)
        await world.advance(by: .milliseconds(1))
        #expect(received.elements == Array(1...100))
        #expect(unread.droppedCount == 96)
        // The client does not wait for the sequence again until an element is taken.
        try await publish(101...200)
        #expect(received.elements == Array(1...200))
        #expect(unread.droppedCount == 196)
        // The client waits for the sequence again after an element was taken.
        var iterator = unread.makeAsyncIterator()
        #expect(await take(1, from: &iterator) == [197])
        try await publish(201...210)
        #expect(received.elements == Array(1...202))
        #expect(await take(3, from: &iterator) == [198, 199, 200])
        // Over HTTP polling, the next poll brings all waiting events.
        #expect(received.elements == Array(1...(world.transport == .httpPolling ? 210 : 205)))
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 196])
    }

    @Test("the client waits 5 s for a slow consumer, and answers pings meanwhile", .notOverPolling)
    func slowConsumer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let events = channel.events
        var iterator = events.makeAsyncIterator()
        try await publish(1...200)
        world.server.sendPing()
        await world.run()
        let before = world.server.receivedMessages().count
        var taken: [Int] = []
        for _ in 1...60 {
            // Between two checks of the client, the test takes one element. The client then reads another event.
            await world.advance(by: .milliseconds(80))
            taken += await take(1, from: &iterator)
        }
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(taken == taken.sorted())
        #expect(Set(taken).count == 60)
        // The consumer has stopped, so the client reads the rest.
        #expect(world.server.receivedMessages().count > before)
        #expect(pusher.statistics.events.delivered == 200)
    }

    @Test(
        "the connection survives a queue that stalls for longer than the pong timeout"
    )
    func stalledQueue() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let (pusher, channel) = try await subscribed(
            .virtual(activityTimeout: 5, limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        queue.sync {}
        let received = Log<Int>()
        channel.bind { received.append($0.data.flatMap { Int($0) } ?? 0) }
        var errors = pusher.errors.makeAsyncIterator()
        queue.suspend()
        try await publish(1...100)
        #expect(pusher.statistics.events.delivered == 11)
        await world.advance(by: .seconds(60))
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.statistics.events.delivered == 100)
        #expect(await errors.next()?.code == .eventsDropped)
        queue.resume()
        queue.sync {}
        queue.sync {}
        #expect(received.elements == Array(91...100))
        await world.run()
        #expect(await errors.next()?.message.hasPrefix("Callbacks dropped: 90.") == true)
        #expect(pusher.statistics.events.dropped == [.callbackOverflow: 90])
        #expect(pusher.statistics.connections.established == 1)
    }

    @Test("the client waits at most 5 s until half of a buffer is empty", .notOverPolling)
    func slowHalf() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 200)))
        let events = channel.events
        var iterator = events.makeAsyncIterator()
        try await publish(1...300)
        let delivered = pusher.statistics.events.delivered
        // A hundred elements would take 8 s.
        for _ in 1...62 {
            await world.advance(by: .milliseconds(80))
            _ = await take(1, from: &iterator)
        }
        #expect(pusher.statistics.events.delivered == delivered)
        await world.advance(by: .milliseconds(80))
        #expect(pusher.statistics.events.delivered > delivered)
    }

    @Test("no callback is lost if its queue catches up in time")
    func recoveredQueue() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let (pusher, channel) = try await subscribed(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        queue.sync {}
        let received = Log<Int>()
        channel.bind { received.append($0.data.flatMap { Int($0) } ?? 0) }
        queue.suspend()
        try await publish(1...100)
        queue.resume()
        await world.runUntil { received.count == 100 }
        #expect(received.elements == Array(1...100))
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("all buffers share a limit, and buffers that nobody reads use at most half of the limit")
    func total() async throws {
        let (pusher, channel) = try await subscribed(
            .virtual(limits: .init(listenerBufferSize: 1_000_000, totalBufferSize: 100_000))
        )
        let unread = [channel.events, channel.events, channel.events]
        let received = Log<Int>()
        channel.bind { received.append($0.data?.utf8.count ?? 0) }
        try await publish(1...99, bytes: 7_000)
        for _ in 1...3 { await world.advance(by: ClientEngine.stallTime) }
        try await publish(100...100, bytes: 7_000)
        #expect(received.count == 100)
        var kept = 0
        for sequence in unread {
            #expect(sequence.droppedCount > 0)
            kept += 100 - sequence.droppedCount
        }
        let limit = 100_000 / 2 + 3 * 7_300
        #expect(kept * 7_000 <= limit)
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 300 - kept])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("a client that waits for a listener can disconnect and connect again")
    func disconnecting() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let events = channel.events(named: "e")
        try await publish(1...20)
        #expect(try await isPaused(pusher))
        pusher.disconnect()
        await world.run()
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(try await world.leftovers(of: pusher) == .none)
        #expect(try await !isPaused(pusher))
        pusher.connect()
        await world.runUntil { channel.subscribed }
        try await publish(101...120)
        #expect(try await isPaused(pusher))
        var iterator = events.makeAsyncIterator()
        let taken = await take(25, from: &iterator)
        #expect(taken.suffix(20) == Array(101...120))
        #expect(events.droppedCount == 0)
    }

    @Test("the client reconnects if it loses the connection while it waits for a listener")
    func losing() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let events = channel.events
        try await publish(1...20)
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        // The client notices the loss when it reads again.
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        #expect(pusher.statistics.connections.established == 2)
        try await publish(21...40)
        await world.advance(by: .seconds(1))
        #expect(events.droppedCount > 0)
        var iterator = events.makeAsyncIterator()
        #expect(await take(4, from: &iterator) == Array(37...40))
    }

    @Test("the client stops waiting for a stalled listener even if the connection is lost often")
    func shortConnections() async throws {
        let (pusher, channel) = try await subscribed(
            .virtual(retryPolicy: .delays([.zero]), limits: .init(sequenceBuffer: 4))
        )
        let unread = channel.events(named: "e")
        for round in 1...20 {
            try await world.atOnce { [server = world.server] in
                for number in 1...10 { server.sendEvent("e", data: "\(round).\(number)", channel: "orders") }
            }
            await world.advance(by: .milliseconds(50))
            world.server.dropConnections()
            await world.advance(by: .milliseconds(10))
            await world.runUntil { channel.subscribed }
        }
        await world.advance(by: ClientEngine.stallTime)
        #expect(pusher.statistics.connections.established == 21)
        #expect(unread.droppedCount >= 170)
    }

    @Test("the wait for a listener continues on the next connection")
    func reconnecting() async throws {
        let (pusher, channel) = try await subscribed(
            .virtual(retryPolicy: .delays([.zero]), limits: .init(sequenceBuffer: 4))
        )
        let unread = channel.events
        try await publish(1...5)
        #expect(try await isPaused(pusher))
        await world.advance(by: .milliseconds(60))
        pusher.reconnectNow()
        await world.runUntil { channel.subscribed }
        try await publish(6...6)
        #expect(try await isPaused(pusher))
        #expect(unread.droppedCount == 0)
        await world.advance(by: .milliseconds(30))
        #expect(unread.droppedCount > 0)
    }

    @Test("the client waits 90 ms for each listener from the time when its buffer is full")
    func laterListener() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let early = channel.events(named: "early")
        for _ in 1...5 { world.server.sendEvent("early", channel: "orders") }
        await world.run()
        #expect(try await isPaused(pusher))
        let late = channel.events
        await world.advance(by: .milliseconds(80))
        for _ in 1...5 {
            pusher.engine.deliverAgain(PusherEvent(eventName: "late"), to: channel.listeners)
        }
        await world.advance(by: .milliseconds(10))
        #expect(early.droppedCount == 1)
        #expect(late.droppedCount == 0)
        await world.advance(by: .milliseconds(79))
        #expect(late.droppedCount == 0)
        await world.advance(by: .milliseconds(1))
        #expect(late.droppedCount == 1)
        #expect(try await !isPaused(pusher))
    }

    @Test("the client stops waiting for a sequence that is released")
    func droppedSequence() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let received = Log<Int>()
        channel.bind { received.append($0.data.flatMap { Int($0) } ?? 0) }
        var events: EventSequence<PusherEvent>? = channel.events
        try await publish(1...20)
        #expect(events != nil)
        #expect(received.count == 5)
        events = nil
        await world.run()
        #expect(received.elements == Array(1...20))
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("events that the app passes in without a connection can overflow a buffer")
    func withoutConnection() async throws {
        let pusher = world.makeClient(.virtual(limits: .init(sequenceBuffer: 4)))
        let channel = pusher.subscribe("orders")
        let events = channel.events
        for number in 1...20 {
            let event = PusherEvent(eventName: "e", data: "\(number)")
            pusher.engine.deliverAgain(event, to: channel.listeners)
        }
        await world.run()
        #expect(events.droppedCount == 16)
        #expect(try await !isPaused(pusher))
    }
}
