import Logging
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Subscribing", .limited, .overEachTransport)
struct SubscribingTests {
    let world = VirtualWorld()

    private var subscribes: [String] { world.server.receivedMessages().filter { $0.contains("pusher:subscribe") } }
    private var unsubscribes: [String] { world.server.receivedMessages().filter { $0.contains("pusher:unsubscribe") } }

    @Test("two channel names that are equal as strings but differ in bytes make one entry of the dictionary")
    func equalNames() async throws {
        let pusher = try await world.makeConnectedClient()
        for name in ["caf\u{E9}", "cafe\u{301}"] { pusher.subscribe(name) }
        await world.run()
        #expect(pusher.connection.channels.channels.count == 1)
    }

    @Test("the client subscribes channels from before connect() when it is connected")
    func beforeConnecting() async throws {
        let delegate = RecordingDelegate()
        let pusher = world.makeClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        #expect(!channel.subscribed)
        pusher.connect()
        await world.run()
        #expect(channel.subscribed)
        #expect(subscribes == [#"{"event":"pusher:subscribe","data":{"channel":"orders"}}"#])
        #expect(delegate.subscriptions.elements == ["orders"])
        #expect(world.server.connections.first?.subscribedChannels == ["orders"])
    }

    /// If the app calls `subscribe` on the event loop, the closure gets an immediate event before `subscribe` returns.
    @Test(
        "the closure for events gets the first event, even if the event comes at once",
        arguments: [
            ("no name", nil), ("presence-a", PusherAuth(auth: "no signature")),
            ("private-a", PusherAuth(auth: "no signature")),
        ]
    )
    func closureGetsFirstEvent(name: String, auth: PusherAuth?) async throws {
        let pusher = try await world.makeConnectedClient()
        let events = Log<String>()
        let count = try await world.atOnce {
            pusher.subscribe(name, auth: auth) { (event: PusherEvent) in events.append(event.eventName) }
            return events.count
        }
        #expect(count == 1)
        #expect(events.elements == ["pusher:subscription_error"])
    }

    @Test("subscribe() binds a closure for events before the client subscribes the channel again")
    func closureOfSubscribedChannel() async throws {
        let pusher = try await world.makeConnectedClient(.virtual(authMethod: .noMethod))
        let (first, second) = (Log<String>(), Log<String>())
        let channel = pusher.subscribe("private-a") { (event: PusherEvent) in first.append(event.eventName) }
        // The authorization runs outside the event loop, so the test waits for its failure.
        await world.runUntil { first.count == 1 }
        let again = try await world.atOnce {
            pusher.subscribe("private-a", auth: PusherAuth(auth: "no signature")) { (event: PusherEvent) in
                second.append(event.eventName)
            }
        }
        #expect(again === channel)
        #expect(first.elements == ["pusher:subscription_error", "pusher:subscription_error"])
        #expect(second.elements == ["pusher:subscription_error"])
    }

    @Test("the client reports a closure for events beyond the limit and does not bind it")
    func closureBeyondLimit() async throws {
        var limits = PusherClientOptions.Limits()
        limits.bindings = 1
        let pusher = try await world.makeConnectedClient(.virtual(limits: limits))
        var errors = pusher.errors.makeAsyncIterator()
        let events = Log<String>()
        pusher.subscribe("orders") { (event: PusherEvent) in events.append(event.eventName) }
        pusher.subscribe("orders") { (event: PusherEvent) in events.append(event.eventName) }
        await world.run()
        #expect(events.elements == ["pusher:subscription_succeeded"])
        #expect(await errors.next()?.code == .tooManyBindings)
    }

    @Test("subscribing in the delegate's connected callback sends one subscription (PusherSwift 432)")
    func inConnectedCallback() async throws {
        final class Subscriber: PusherDelegate {
            let pusher: @Sendable () -> Pusher
            init(_ pusher: @escaping @Sendable () -> Pusher) { self.pusher = pusher }
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
                if new == .connected { pusher().subscribe("orders") }
            }
        }
        let pusher = world.makeClient()
        let delegate = Subscriber { pusher }
        pusher.delegate = delegate
        pusher.subscribe("orders")
        pusher.connect()
        await world.run()
        pusher.subscribe("orders")
        await world.run()
        #expect(subscribes.count == 1)
        #expect(pusher.connection.channels.find(name: "orders")?.subscribed == true)
        withExtendedLifetime(delegate) {}
    }

    @Test(
        "the client accepts a success without data (PusherSwift 446)",
        arguments: PusherTestServer.Dialect.EmptyData.allCases
    )
    func successWithoutData(form: PusherTestServer.Dialect.EmptyData) async throws {
        var options = PusherTestServer.Options()
        options.dialect.subscriptionSucceededData = form
        let world = VirtualWorld(options)
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let events = Log<String>()
        let channel = try await world.atOnce {
            let channel = pusher.subscribe("orders")
            channel.bind(eventName: "pusher:subscription_succeeded") { events.append($0.eventName) }
            return channel
        }
        await world.run()
        #expect(channel.subscribed)
        #expect(delegate.subscriptions.elements == ["orders"])
        #expect(events.count == 1)
    }

    @Test("a channel that was unsubscribed while pending stays unsubscribed after a reconnect (PusherSwift 433)")
    func unsubscribeWhilePending() async throws {
        world.server.failSubscriptions(to: "orders", with: .unanswered)
        let pusher = try await world.makeConnectedClient()
        pusher.subscribe("orders")
        await world.run()
        pusher.unsubscribe("orders")
        #expect(pusher.connection.channels.find(name: "orders") == nil)
        world.server.failSubscriptions(to: "orders", with: nil)
        world.network.cutLinks()
        await world.advance(by: .seconds(1))
        #expect(pusher.connection.connectionState == .connected)
        #expect(subscribes.count == 1)
        #expect(world.server.connections.first?.subscribedChannels == [])
    }

    @Test("the client unsubscribes once if the app unsubscribes a pending channel")
    func unsubscribeBeforeTheAnswer() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = try await world.atOnce {
            defer { pusher.unsubscribe("orders") }
            return pusher.subscribe("orders")
        }
        await world.run()
        #expect(!channel.subscribed)
        #expect(unsubscribes == [#"{"event":"pusher:unsubscribe","data":{"channel":"orders"}}"#])
        #expect(world.server.connections.first?.subscribedChannels == [])
    }

    @Test("subscribing, unsubscribing and subscribing again sends one frame, and the last call wins")
    func lastCallWins() async throws {
        let pusher = try await world.makeConnectedClient()
        let (first, second) = try await world.atOnce {
            let first = pusher.subscribe("orders")
            pusher.unsubscribe("orders")
            return (first, pusher.subscribe("orders"))
        }
        await world.run()
        #expect(first != second)
        #expect(!first.subscribed)
        #expect(second.subscribed)
        #expect(subscribes.count == 1)
        #expect(unsubscribes.isEmpty)
    }

    @Test("the client resubscribes every wanted channel after a loss, and reports the time away")
    func resubscription() async throws {
        let pusher = try await world.makeConnectedClient()
        let orders = pusher.subscribe("orders")
        pusher.subscribe("news")
        pusher.subscribe("weather")
        await world.run()
        pusher.unsubscribe("news")
        await world.run()
        let resubscriptions = orders.resubscriptions
        world.network.failLinks(2, with: .unreachable)
        world.network.cutLinks()
        await world.run()
        #expect(!orders.subscribed)
        await world.advance(by: .seconds(3))
        #expect(orders.subscribed)
        await world.letServerNotice()
        #expect(world.server.connections.first?.subscribedChannels == ["orders", "weather"])
        var iterator = resubscriptions.makeAsyncIterator()
        #expect(await iterator.next() == .seconds(3))
    }

    @Test("channels stay wanted across disconnect() and connect()")
    func overDisconnect() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        pusher.disconnect()
        await world.run()
        #expect(!channel.subscribed)
        pusher.connect()
        await world.run()
        #expect(channel.subscribed)
    }

    @Test("unsubscribeAll() unsubscribes from every channel")
    func unsubscribeAll() async throws {
        let pusher = try await world.makeConnectedClient()
        for name in ["a", "b", "c"] { pusher.subscribe(name) }
        await world.run()
        pusher.unsubscribeAll()
        #expect(pusher.connection.channels.channels.isEmpty)
        await world.run()
        #expect(world.server.connections.first?.subscribedChannels == [])
    }

    @Test("the event and the delegate get the error of a subscription without an answer, and the client retries")
    func timeout() async throws {
        world.server.failSubscriptions(to: "orders", with: .unanswered)
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe("orders")
        let events = Log<PusherEvent>()
        channel.bind(eventName: "pusher:subscription_error") { events.append($0) }
        let waiting = Task { try await channel.subscribed(timeout: .seconds(10.5)) }
        await world.runUntil { pusher.engine.read { !$0.waiters.isEmpty } }
        await world.advance(by: .seconds(10))
        await world.advance(by: .milliseconds(500))
        let error = await #expect(throws: SubscriptionError.self) { try await waiting.value }
        #expect(error?.code == .waitTimedOut)
        #expect((error?.cause as? SubscriptionError)?.code == .timedOut)
        #expect(error?.channelName == "orders")
        #expect(events.count == 1)
        #expect(delegate.failures.elements == ["orders"])
        world.server.failSubscriptions(to: "orders", with: nil)
        await world.advance(by: .milliseconds(500))
        await world.runUntil { channel.subscribed }
    }

    @Test("an error that names no channel fails the only pending subscription")
    func refusal() async throws {
        world.server.failSubscriptions(to: "orders", with: .error(code: nil, message: "not today"))
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == .refused)
        #expect(error?.message == "not today")
    }

    @Test(
        "the client reports and throws an error for an invalid name, and never sends the name",
        arguments: [
            ("no spaces", PusherClientError.Code.invalidChannelName), ("", .invalidChannelName),
            ("#server-to-user-1", .invalidChannelName), (String(repeating: "a", count: 201), .invalidChannelName),
        ]
    )
    func invalidName(name: String, kind: PusherClientError.Code) async throws {
        let delegate = RecordingDelegate()
        let pusher = try await world.makeConnectedClient()
        pusher.delegate = delegate
        let channel = pusher.subscribe(name)
        let error = await #expect(throws: SubscriptionError.self) {
            try await world.complete { try await channel.subscribed() }
        }
        #expect(error?.code == kind)
        #expect(delegate.failures.elements == [name])
        #expect(subscribes.isEmpty)
        pusher.unsubscribe(name)
        #expect(pusher.connection.channels.find(name: name) == nil)
    }

    @Test("the property, the closure and the event report the subscription count")
    func subscriptionCount() async throws {
        var options = PusherTestServer.Options()
        options.sendsSubscriptionCounts = true
        let world = VirtualWorld(options)
        let counts = Log<Int>()
        let pusher = try await world.makeConnectedClient()
        let events = Log<String>()
        let channel = try await world.atOnce {
            let channel = pusher.subscribe("orders", onSubscriptionCountChanged: { counts.append($0) })
            channel.bind(eventName: "pusher:subscription_count") { events.append($0.data ?? "") }
            #expect(channel.subscriptionCount == nil)
            return channel
        }
        await world.run()
        let other = try await world.makeConnectedClient()
        other.subscribe("orders")
        await world.run()
        #expect(channel.subscriptionCount == 2)
        #expect(counts.elements == [1, 2])
        #expect(events.elements == [#"{"subscription_count":1}"#, #"{"subscription_count":2}"#])
    }

    @Test(
        "the log warns of a closure for members on an ordinary channel, and of a nearly private name"
    )
    func hardlyMeant() async throws {
        let lines = LogLines()
        let pusher = try await world.makeConnectedClient(.virtual(logger: lines.logger(.warning)))
        pusher.subscribe("orders") { _ in }
        pusher.subscribe("Private-orders")
        pusher.subscribe("news")
        pusher.subscribe("presence-room") { _ in }
        #expect(lines.messages.count == 2)
        #expect(lines.messages.first?.contains("onMemberAdded") == true)
        #expect(lines.messages.last?.contains("Private-orders") == true)
    }

    @Test("subscribed() without connect() logs after 5 s that a connection is missing")
    func subscribedWithoutConnecting() async throws {
        let lines = LogLines()
        let pusher = world.makeClient(.virtual(logger: lines.logger(.warning)))
        let waiting = ["orders", "news"].map { name in
            let channel = pusher.subscribe(name)
            return Task { try await channel.subscribed() }
        }
        await world.runUntil { pusher.engine.read { $0.waiters.count == 2 } }
        await world.advance(by: .milliseconds(4_999))
        #expect(lines.messages == [])
        await world.advance(by: .milliseconds(1))
        // The client logs one line for all waiting calls.
        #expect(lines.messages.count == 1)
        #expect(lines.messages.first?.contains("Call connect()") == true)
        await world.advance(by: .seconds(600))
        #expect(lines.messages.count == 1)
        pusher.connect()
        for task in waiting { _ = try await world.complete { try await task.value } }
    }

    @Test("subscribed() logs no warning if the client connects or the wait ends within 5 s")
    func subscribedInTime() async throws {
        let lines = LogLines()
        let pusher = world.makeClient(.virtual(logger: lines.logger(.warning)))
        let (channel, other) = (pusher.subscribe("orders"), pusher.subscribe("news"))
        world.server.failSubscriptions(to: "orders", with: .unanswered)
        let waiting = Task { try await channel.subscribed() }
        let given = Task { try await other.subscribed() }
        await world.runUntil { pusher.engine.read { $0.waiters.count == 2 } }
        given.cancel()
        await #expect(throws: CancellationError.self) { try await world.complete { try await given.value } }
        await world.advance(by: .seconds(4))
        pusher.connect()
        await world.advance(by: .seconds(6))
        #expect(lines.messages == [])
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await world.complete { try await waiting.value } }
    }

    @Test("all sequences of a channel end when it is unsubscribed, even new ones")
    func endOfSequences() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        var before = Sequences(channel)
        pusher.unsubscribe("orders")
        await world.run()
        var after = Sequences(channel)
        #expect(await before.areAtEnd)
        #expect(await after.areAtEnd)
    }

    private struct Sequences {
        var resubscriptions: EventSequence<Duration>.AsyncIterator
        var events: EventSequence<PusherEvent>.AsyncIterator

        init(_ channel: PusherChannel) {
            resubscriptions = channel.resubscriptions.makeAsyncIterator()
            events = channel.events.makeAsyncIterator()
        }

        /// Whether both sequences have ended. Waits forever if a sequence does not end.
        var areAtEnd: Bool {
            mutating get async {
                let isEnd = await resubscriptions.next() == nil
                while await events.next() != nil {}
                return isEnd
            }
        }
    }
}
