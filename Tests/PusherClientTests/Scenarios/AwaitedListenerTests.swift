import ClientTestSupport
import Dispatch
import NIOCore
import PusherTestServer
import TestSupport
import Testing

@testable import PusherClient

/// Full buffers stop reading from the socket while their listeners make progress.
@Suite("Listeners that the client waits for", .timeLimit(.minutes(5)), .overEachTransport)
struct AwaitedListenerTests {
    let world = VirtualWorld()

    private func subscribed(_ options: PusherClientOptions) async throws -> (Pusher, PusherChannel) {
        let pusher = try await world.makeConnectedClient(options)
        let channel = pusher.subscribe("orders")
        await world.runUntil { channel.subscribed }
        return (pusher, channel)
    }

    /// Publishes events in reads of their own.
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

    /// Takes this many elements.
    private func take(_ count: Int, from iterator: inout EventSequence<PusherEvent>.AsyncIterator) async -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<count { numbers.append(await iterator.next()?.data.flatMap { Int($0) } ?? 0) }
        await world.run()
        return numbers
    }

    @Test("a consumer that makes progress loses no event: the client reads on when half is taken")
    func movingConsumer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        var events = channel.events.makeAsyncIterator()
        try await publish(1...20)
        #expect(try await isPaused(pusher))
        #expect(pusher.statistics.events.delivered == 5)
        #expect(await take(2, from: &events) == [1, 2])
        #expect(pusher.statistics.events.delivered == 5)
        // Two are left, so the client reads the next ones.
        #expect(await take(1, from: &events) == [3])
        #expect(pusher.statistics.events.delivered > 5)
        #expect(await take(17, from: &events) == Array(4...20))
        #expect(try await !isPaused(pusher))
        #expect(pusher.statistics.events.dropped == [:])
    }

    @Test("large events fill a buffer by their bytes")
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

    @Test("an event that is larger than the buffer is kept")
    func largerThanBuffer() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(listenerBufferSize: 100)))
        let events = channel.events
        try await publish(1...3, bytes: 2_000)
        await world.advance(by: ClientEngine.stallTime)
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.data?.hasPrefix("3 ") == true)
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 2])
    }

    @Test("a sequence that nobody reads costs other listeners less than 100 ms, once, and none of their events")
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
        // The client does not wait for it again as long as it takes nothing.
        try await publish(101...200)
        #expect(received.elements == Array(1...200))
        #expect(unread.droppedCount == 196)
        // After it has taken an element, the client waits for it.
        var iterator = unread.makeAsyncIterator()
        #expect(await take(1, from: &iterator) == [197])
        try await publish(201...210)
        #expect(received.elements == Array(1...202))
        #expect(await take(3, from: &iterator) == [198, 199, 200])
        // The next poll brings all that has come meanwhile.
        #expect(received.elements == Array(1...(world.transport == .httpPolling ? 210 : 205)))
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 196])
    }

    @Test("a consumer that moves too slowly is waited for 5 s, and pings are answered meanwhile", .notOverPolling)
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
            // One element is taken whenever the client checks, and then the socket brings another one.
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
        "a queue that stalls for longer than the pong timeout costs events, which is reported, but not the connection"
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

    @Test("a queue that catches up in time loses nothing")
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

    @Test("all buffers share a limit, and those that nobody reads use at most half")
    func total() async throws {
        let (pusher, channel) = try await subscribed(
            .virtual(limits: .init(listenerBufferSize: 10_000_000, totalBufferSize: 1_000_000))
        )
        let unread = [channel.events, channel.events, channel.events]
        let received = Log<Int>()
        channel.bind { received.append($0.data?.utf8.count ?? 0) }
        try await publish(1...99, bytes: 70_000)
        for _ in 1...3 { await world.advance(by: ClientEngine.stallTime) }
        // No further event follows, so the drops are counted at once.
        try await publish(100...100, bytes: 70_000)
        #expect(received.count == 100)
        var kept = 0
        for sequence in unread {
            #expect(sequence.droppedCount > 0)
            kept += 100 - sequence.droppedCount
        }
        #expect(kept * 70_000 <= 1_000_000 / 2 + 3 * 70_300)
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 300 - kept])
        #expect(pusher.connection.connectionState == .connected)
    }

    @Test("a client that waits for a listener can disconnect, and connect")
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

    @Test("a connection that is lost while the client waits for a listener is made again")
    func losing() async throws {
        let (pusher, channel) = try await subscribed(.virtual(limits: .init(sequenceBuffer: 4)))
        let events = channel.events
        try await publish(1...20)
        world.server.dropConnections()
        await world.advance(by: .seconds(1))
        // The client notices the loss when it reads.
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        #expect(pusher.statistics.connections.established == 2)
        try await publish(21...40)
        await world.advance(by: .seconds(1))
        #expect(events.droppedCount > 0)
        var iterator = events.makeAsyncIterator()
        #expect(await take(4, from: &iterator) == Array(37...40))
    }

    @Test("a listener that does not move is judged by its time on all connections, however short each is")
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

    @Test("a listener that fills later has its own 90 ms")
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

    @Test("releasing a sequence ends the client's wait for it")
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

    @Test("events that the app passes in without a connection are dropped when the buffer is full")
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
