import ClientTestSupport
import Dispatch
import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests of the shell's counts, and of all counts together. Separate suites test the counts of the core.
@Suite("Statistics", .limited, .overEachTransport)
struct StatisticsTests {
    let world = VirtualWorld()

    @Test("the statistics contain the reason, attempts and recovery time of an outage")
    func outage() async throws {
        let pusher = try await world.makeConnectedClient()
        await world.advance(by: .seconds(60))
        world.network.failLinks(2, with: .unreachable)
        world.network.cutLinks()
        await world.run()
        for _ in 1...3 { await world.advance(by: .seconds(1)) }
        try #require(pusher.connection.connectionState == .connected)
        await world.advance(by: .seconds(7))
        let connections = pusher.statistics.connections
        #expect(connections.attempts == 4 && connections.established == 2)
        #expect(connections.lost == [.network: 1] && connections.failedAttempts == [.network: 2])
        #expect(connections.recovery.count == 1 && connections.recovery.last == .seconds(3))
        #expect(connections.timeConnected == .seconds(67))
    }

    @Test("the reason of a loss after a suspension is the suspension, not the pong timeout")
    func suspended() async throws {
        let pusher = try await world.makeConnectedClient()
        world.network.blackHoleLinks()
        world.suspend(for: .seconds(3_600))
        pusher.connect()
        await world.advance(by: .seconds(30))
        #expect(pusher.statistics.connections.lost == [.suspended: 1])
    }

    @Test("the statistics measure a ping's round trip by its pong")
    func roundTrip() async throws {
        world.server.delayMessages(by: .milliseconds(40))
        let pusher = world.makeClient()
        pusher.connect()
        await world.advance(by: .seconds(1))
        pusher.checkConnection()
        await world.advance(by: .seconds(1))
        let pings = pusher.statistics.pings
        #expect(pings.sent == 1 && pings.answered == 1 && pings.roundTrip.last == .milliseconds(40))
    }

    @Test("the statistics count messages and their bytes in both directions")
    func traffic() async throws {
        let pusher = try await world.makeConnectedClient()
        let before = pusher.statistics.messages
        world.server.sendText(#"{"event":"e","data":"é"}"#)
        world.server.sendText("none")
        await world.run()
        let received = pusher.statistics.messages
        #expect(received.received - before.received == 2 && received.malformed == 1)
        #expect(received.bytesReceived - before.bytesReceived == 25 + 4)
        let sentBefore = world.server.receivedMessages().count
        pusher.subscribe("orders")
        pusher.subscribe("news")
        await world.run()
        let texts = world.server.receivedMessages().dropFirst(sentBefore)
        let sent = pusher.statistics.messages
        #expect(sent.sent - before.sent == 2 && texts.count == 2)
        #expect(sent.bytesSent - before.bytesSent == texts.reduce(0) { $0 + $1.utf8.count })
    }

    @Test("the statistics count a binary message", .ofWebSocketOnly)
    func binary() async throws {
        let pusher = try await world.makeConnectedClient()
        let before = pusher.statistics.messages
        world.server.sendBinary([1, 2, 3])
        await world.run()
        let received = pusher.statistics.messages
        #expect(received.received - before.received == 1 && received.malformed == 1)
        #expect(received.bytesReceived - before.bytesReceived == 3)
    }

    @Test("the statistics count every event, even if many arrive in one read")
    func events() async throws {
        let pusher = try await world.makeConnectedClient()
        let orders = pusher.subscribe("orders")
        let count = Log<Void>()
        orders.bind(eventName: "created") { _ in count.append(()) }
        await world.run()
        for _ in 1...500 {
            world.server.sendEvent("created", channel: "orders")
            world.server.sendEvent("created", channel: "unknown")
        }
        // The ping changes the state during the read, so the client handles the remaining events differently.
        world.server.sendPing()
        for _ in 1...500 { world.server.sendEvent("created", channel: "orders") }
        await world.run()
        let events = pusher.statistics.events
        #expect(count.count == 1_000)
        #expect(events.received == 1_500 && events.delivered == 1_000 && events.unhandled == 0)
        #expect(events.dropped == [.notSubscribed: 500])
    }

    @Test("the debug log names each event without a listener once, and at most 100 of them")
    func unheard() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.debug)))
        let channel = pusher.subscribe("news")
        await world.runUntil { channel.subscribed }
        _ = channel.bind(eventName: "heard") { (_: PusherEvent) in }
        for name in ["heard", "missed", "missed", "other"] + (1...200).map({ "name-\($0)" }) {
            try world.server.publish(event: name, data: "1", to: "news")
        }
        await world.run()
        // Until then, the events wait for a listener.
        await world.endHolding()
        let named = lines.messages.filter { $0.contains("nobody listens to the event") }
        #expect(named.count == 100)
        #expect(named.prefix(2).map { $0.contains(#""missed", which arrived on "news""#) } == [true, false])
        #expect(!named.contains { $0.contains("heard\"") })
    }

    @Test("an event without a listener counts as delivered and unhandled")
    func unhandled() async throws {
        let pusher = try await world.makeConnectedClient()
        let orders = pusher.subscribe("orders")
        orders.bind(eventName: "created") { _ in }
        let sequence = orders.events(named: "paid")
        await world.run()
        for name in ["created", "paid", "cretaed", "client-x"] { world.server.sendEvent(name, channel: "orders") }
        world.server.sendText(#"{"event":"pusher:error","channel":"orders","data":{"code":4301,"message":"no"}}"#)
        await world.run()
        #expect(pusher.statistics.events.delivered == 4 && pusher.statistics.events.unhandled == 0)
        // Until then, the events wait for a listener.
        await world.endHolding()
        let events = pusher.statistics.events
        #expect(events.delivered == 4 && events.unhandled == 2)
        _ = sequence
    }

    @Test("the statistics count events of the user like other events")
    func userEvents() async throws {
        let pusher = world.makeClient(.virtual(user: "7"))
        pusher.user.bind(eventName: "note") { _ in }
        pusher.connect()
        pusher.signIn()
        await world.runUntil { pusher.user.userId != nil }
        try world.server.publish(event: "note", data: "", toUser: "7")
        try world.server.publish(event: "other", data: "", toUser: "7")
        await world.run()
        let statistics = pusher.statistics
        #expect(statistics.events.delivered == 2 && statistics.events.unhandled == 1)
        #expect(statistics.signIns.succeeded == 1 && statistics.authorizations.succeeded == 1)
    }

    @Test("each unread sequence drops and counts its own events")
    func sequenceOverflow() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(limits: .init(sequenceBuffer: 10)))
        let orders = pusher.subscribe("orders")
        await world.run()
        let (named, all) = (orders.events(named: "e"), pusher.events)
        for _ in 1...25 { world.server.sendEvent("e", channel: "orders") }
        world.server.sendEvent("other", channel: "orders")
        await world.advance(by: ClientEngine.stallTime)
        #expect(named.droppedCount == 15 && all.droppedCount == 16)
        #expect(pusher.statistics.events.dropped == [.sequenceOverflow: 31])
    }

    @Test("the statistics count callbacks that were dropped because of a slow queue")
    func callbackOverflow() async throws {
        let queue = DispatchQueue(label: "callbacks")
        let pusher = try await world.makeConnectedClient(
            .virtual(limits: .init(pendingCallbacks: 10), callbackQueue: .queue(queue))
        )
        let orders = pusher.subscribe("orders")
        let received = Log<Void>()
        await world.runUntil { orders.subscribed }
        queue.suspend()
        orders.bind(eventName: "e") { _ in received.append(()) }
        for _ in 1...25 { world.server.sendEvent("e", channel: "orders") }
        await world.advance(by: ClientEngine.stallTime)
        #expect(pusher.statistics.events.dropped == [.callbackOverflow: 15])
        queue.resume()
        await world.runUntil { received.count == 10 }
        #expect(pusher.statistics.events.dropped == [.callbackOverflow: 15])
    }

    @Test("the statistics count data that does not decode for each consumer")
    func undecodable() async throws {
        let pusher = try await world.makeConnectedClient()
        let orders = pusher.subscribe("orders")
        let asNumber = orders.observe(named: "e", as: Int.self) { _ in }
        let asText = orders.observe(named: "e", as: String.self) { _ in }
        var numbers = orders.values(named: "e", as: Int.self).makeAsyncIterator()
        await world.run()
        world.server.sendEvent("e", data: "[]", channel: "orders")
        world.server.sendEvent("e", data: "5", channel: "orders")
        await world.run()
        #expect(await numbers.next() == 5)
        // The value 5 is not a string, so the callback for strings drops it.
        #expect(pusher.statistics.events.dropped == [.undecodable: 4])
        withExtendedLifetime((asNumber, asText)) {}
    }

    @Test("if the transformer throws, an event counts as dropped, and a client event as rejected")
    func transformerFailed() async throws {
        let options = PusherClientOptions(
            authMethod: .endpoint(authEndpoint: VirtualWorld.authEndpoint),
            host: .host("server.test"),
            useTLS: false,
            payloadTransformer: Thrower(),
            callbackQueue: .eventLoop,
            logger: .quiet
        )
        let pusher = try await world.makeConnectedClient(options)
        let chat = pusher.subscribe("private-chat")
        await world.runUntil { chat.subscribed }
        world.server.sendEvent("bad", channel: "private-chat")
        world.server.sendEvent("good", channel: "private-chat")
        chat.trigger(eventName: "client-bad", data: 1)
        await world.endHolding()
        let statistics = pusher.statistics
        #expect(statistics.events.delivered == 2 && statistics.events.unhandled == 1)
        #expect(statistics.events.dropped == [.transformerFailed: 1])
        #expect(statistics.clientEvents.rejected == 1 && statistics.clientEvents.accepted == 0)
    }

    private struct Thrower: PayloadTransformer {
        struct Refusal: Error {}

        struct Reader: PayloadReader {
            mutating func incoming(_ payload: EventPayload) throws -> [EventPayload] {
                if payload.eventName == "bad" { throw Refusal() }
                return [payload]
            }
        }

        func makeReader(channelName: String) -> any PayloadReader { Reader() }
        func outgoing(_ payload: EventPayload) throws -> [EventPayload] { throw Refusal() }
    }

    @Test("client events count as accepted and sent, or as rejected before they are queued")
    func clientEvents() async throws {
        let pusher = try await world.makeConnectedClient()
        let chat = pusher.subscribe("private-chat")
        chat.trigger(eventName: "client-a", data: 1)
        chat.trigger(eventName: "wrong", data: 1)
        await world.runUntil { chat.subscribed }
        try await world.complete { try await chat.send("client-b", data: 2) }
        await #expect(throws: PusherClientError.self) { try await chat.send("wrong", data: 2) }
        await world.run()
        let events = pusher.statistics.clientEvents
        #expect(events.accepted == 2 && events.sent == 2 && events.rejected == 2 && events.dropped == 0)
    }

    @Test("the statistics measure the latency of authorizations, and count the outcomes of subscriptions")
    func authorization() async throws {
        world.server.failAuthorizations(1, with: .delayed(.seconds(2)))
        world.server.failAuthorizations(1, with: .status(403))
        let pusher = try await world.makeConnectedClient()
        let first = pusher.subscribe("private-a")
        await world.runUntil { world.server.authorizationRequests.count == 1 }
        await world.advance(by: .seconds(2))
        await world.runUntil { first.subscribed || pusher.statistics.subscriptions.failed == 1 }
        let second = pusher.subscribe("private-b")
        await world.runUntil { second.subscribed || pusher.statistics.subscriptions.failed == 1 }
        let third = pusher.subscribe("private-c")
        await world.runUntil { third.subscribed }
        let statistics = pusher.statistics
        #expect(statistics.authorizations.begun == 3)
        #expect(statistics.authorizations.succeeded == 2 && statistics.authorizations.failed == 1)
        #expect(statistics.authorizations.latency.longest == .seconds(2))
        #expect(statistics.subscriptions.succeeded == 2 && statistics.subscriptions.failed == 1)
        #expect(statistics.subscriptions.current == 2)
    }
}
