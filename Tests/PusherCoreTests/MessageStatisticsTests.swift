import PusherProtocol
import TestTraits
import Testing

@testable import PusherCore

/// Tests of each count of messages and requests. In every test of the core, the ledger also checks after each input
/// that the counts add up.
@Suite("Statistics of messages in the core", .limited)
struct MessageStatisticsTests {
    private static let secret = "private-encrypted-a"

    // MARK: Events

    @Test("An event counts as delivered if its channel is wanted or it has no channel, and otherwise as dropped")
    func events() {
        var client = CoreClient.subscribed("a")
        client.received(.message("a"))
        client.received(.message(nil))
        client.received(.message("b"))
        client.unsubscribe("a")
        client.received(.message("a"))
        client.received(.message("#server-to-user-1"))
        let events = client.statistics.events
        #expect(events.received == 5 && events.delivered == 2)
        #expect(events.dropped == [.notSubscribed: 3])
    }

    @Test("The user's own events count as delivered while the user is signed in")
    func userEvents() {
        var client = CoreClient.connected()
        client.signIn()
        client.authorized(nil)
        client.received(.signedIn("u"))
        client.received(.message("#server-to-user-u"))
        client.signOut()
        client.received(.message("#server-to-user-u"))
        let statistics = client.statistics
        #expect(statistics.events.delivered == 1 && statistics.events.dropped == [.notSubscribed: 1])
        #expect(statistics.signIns.succeeded == 1 && statistics.signIns.failed == 0)
    }

    @Test("Events before the greeting, while disconnecting and on an old socket count as dropped")
    func withoutConnection() {
        var client = CoreClient()
        client.connect()
        client.opened()
        client.received(.message("a"))
        client.greeted()
        client.disconnect()
        client.received(.message("a"))
        client.closed(code: 1000)
        client.received(.message("a"), on: 1)
        let events = client.statistics.events
        #expect(events.received == 3 && events.dropped == [.notConnected: 3])
    }

    @Test("Encrypted events count as held, delivered or undecryptable", .needsSodium)
    func encrypted() throws {
        var client = CoreClient.subscribed(Self.secret)
        client.received(try TestKey.first.message("1", on: Self.secret))
        client.received(try TestKey.second.message("2", on: Self.secret))
        client.received(try TestKey.first.message("3", on: Self.secret))
        #expect(client.statistics.events.held == 2)
        // The new key does not decrypt the first held event.
        client.authorized(Self.secret)
        let events = client.statistics.events
        #expect(events.held == 0 && events.delivered == 2 && events.undecryptable == 1 && events.dropped == [:])
    }

    @Test(
        "Events that wait for a key count as dropped if the channel is unsubscribed or the client is released",
        .needsSodium,
        arguments: [true, false]
    )
    func heldAndUnsubscribed(isRelease: Bool) throws {
        var client = CoreClient.subscribed(Self.secret)
        for _ in 1...3 { client.received(try TestKey.second.message("1", on: Self.secret)) }
        #expect(client.statistics.events.held == 3)
        if isRelease { client.release() } else { client.unsubscribe(Self.secret) }
        let events = client.statistics.events
        #expect(events.held == 0 && events.dropped == [.notSubscribed: 3])
    }

    @Test("Events that wait for a key count as dropped even if the unsubscribe waits for the server", .needsSodium)
    func heldWhileSubscribing() throws {
        var client = CoreClient.connected()
        client.subscribe(Self.secret)
        client.received(try TestKey.first.message("1", on: Self.secret))
        client.authorized(
            Self.secret,
            .success(.init(auth: "key:1.1/\(Self.secret)", sharedSecret: TestKey.second.base64))
        )
        #expect(client.statistics.events.held == 1)
        client.unsubscribe(Self.secret)
        #expect(client.statistics.events.held == 0)
        #expect(client.statistics.events.dropped == [.notSubscribed: 1])
    }

    @Test("Events of a channel without a key count as undecryptable", .needsSodium)
    func withoutKey() throws {
        var client = CoreClient.connected()
        client.subscribe(Self.secret)
        client.received(try TestKey.first.message("1", on: Self.secret))
        client.authorized(Self.secret, .failure(.init(.refused, "no")))
        client.received(try TestKey.first.message("2", on: Self.secret))
        #expect(client.statistics.events.undecryptable == 2)
        #expect(client.statistics.subscriptions.failed == 1 && client.statistics.authorizations.failed == 1)
    }

    // MARK: Messages of the protocol

    @Test("Invalid and incomplete messages count as malformed")
    func malformed() {
        var client = CoreClient.subscribed("presence-a", .members("presence-a", ["1"]))
        client.malformed()
        client.received(Envelope(event: EventName.memberAddedInternal, channel: "presence-a"))
        client.received(Envelope(event: EventName.subscriptionCountInternal, channel: "presence-a"))
        #expect(client.statistics.messages.malformed == 3)
        #expect(client.statistics.messages.ignored == 0)
    }

    @Test(
        "Unexpected and unknown messages count as ignored",
        arguments: [
            Envelope(event: EventName.subscriptionCountInternal, channel: "a", data: .json("{}")),
            Envelope(event: EventName.cacheMiss, channel: "a"), .memberAdded("presence-b", "1"),
            .memberRemoved("presence-a", "\"7\""),
            Envelope(event: "pusher_internal:new", channel: "a"), Envelope(event: EventName.watchlistEvents),
            .signedIn("u"), .greeting(1), .success("#server-to-user-u"), Envelope(event: EventName.pong),
        ]
    )
    func ignored(message: Envelope) {
        var client = CoreClient.subscribed("presence-a", .members("presence-a", ["1"]))
        client.subscribe("presence-b")
        let before = client.statistics
        client.received(message)
        #expect(client.statistics.messages.ignored == 1)
        #expect(client.statistics.events == before.events)
    }

    @Test("Protocol messages and malformed messages on an old connection count as ignored")
    func stale() {
        var client = CoreClient.connected()
        client.closed()
        client.connect()
        client.received(.ping, on: 1)
        client.malformed(1)
        #expect(client.statistics.messages.ignored == 2 && client.statistics.messages.malformed == 0)
    }

    // MARK: Subscriptions and authorizations

    @Test("Subscriptions count as succeeded, failed, or resubscribed after a loss")
    func subscriptions() {
        var client = CoreClient.subscribed("a")
        client.subscribe("no good")
        client.subscribe("b")
        client.received(.refusal("b"))
        client.closed()
        client.connect()
        client.establish()
        #expect(client.statistics.subscriptions.current == 0)
        client.received(.success("a"))
        client.received(.success("b"))
        let subscriptions = client.statistics.subscriptions
        #expect(subscriptions.succeeded == 3 && subscriptions.resubscribed == 1 && subscriptions.failed == 2)
        #expect(subscriptions.current == 2)
    }

    @Test("Authorizations count as succeeded, failed or cancelled, with their duration")
    func authorizations() {
        var client = CoreClient.connected()
        for name in ["private-a", "private-b", "private-c"] { client.subscribe(name) }
        client.advance(by: .seconds(2))
        client.authorized("private-a")
        client.authorized("private-b", .failure(.init(.requestFailed, "no", recovery: .retry(after: .zero))))
        client.decide(.seconds(1))
        client.advance(by: .seconds(1))
        client.authorized("private-b")
        client.authorized("private-c", .failure(.init(.refused, "no")))
        client.subscribe("private-d")
        client.unsubscribe("private-d")
        let authorizations = client.statistics.authorizations
        #expect(authorizations.begun == 5 && authorizations.tries == 5)
        #expect(authorizations.succeeded == 2 && authorizations.failed == 2 && authorizations.cancelled == 1)
        #expect(authorizations.latency.longest == .seconds(2) && authorizations.latency.total == .seconds(2))
        #expect(client.statistics.subscriptions.retried == 1)
    }

    @Test("A loss cancels authorizations, and a failed sign-in counts as failed")
    func cancelled() {
        var client = CoreClient.connected()
        client.subscribe("private-a")
        client.signIn()
        client.authorized(nil, .failure(.init(.refused, "no")))
        client.closed()
        let statistics = client.statistics
        #expect(statistics.authorizations.cancelled == 1 && statistics.authorizations.failed == 1)
        #expect(statistics.signIns.failed == 1)
    }

    // MARK: Client events

    @Test("A client event counts as waiting, as rejected if the queue is full, or as dropped after an unsubscribe")
    func clientEvents() {
        var client = CoreClient.connected { $0.queuedClientEvents = 2 }
        client.subscribe("private-a")
        for _ in 1...3 { client.trigger("client-e", on: "private-a") }
        client.send("client-e", on: "private-a")
        #expect(client.statistics.clientEvents.waiting == 2 && client.statistics.clientEvents.rejected == 2)
        client.authorized("private-a")
        client.received(.success("private-a"))
        client.notWritten("client-e")
        client.unsubscribe("private-a")
        // One event had returned to the queue, and the client dropped the event with the channel. The result of the
        // other write is not known yet.
        let events = client.statistics.clientEvents
        #expect(events.accepted == 2 && events.waiting == 0 && events.dropped == 1 && events.sent == 0)
    }

    @Test(
        "An awaited client event counts as sent if it is written, and otherwise as dropped"
    )
    func awaitedClientEvents() {
        var client = CoreClient.subscribed("private-a") { $0.clientEventsPerSecond = 2 }
        for _ in 1...4 { client.send("client-e", on: "private-a") }
        client.written(1)
        client.written(2, error: .init(.notSubscribed, "lost"))
        client.cancelWait(3)
        #expect(client.statistics.clientEvents.waiting == 1)
        client.closed()
        let events = client.statistics.clientEvents
        #expect(events.accepted == 4 && events.sent == 1 && events.dropped == 3 && events.waiting == 0)
    }

    @Test("A client event that the server rejects counts as rejected by the server")
    func rejected() {
        var client = CoreClient.subscribed("private-a")
        client.trigger("client-e", on: "private-a")
        client.received(.error(4301))
        #expect(client.statistics.clientEvents.rejectedByServer == 1)
    }

    // MARK: Single times

    @Test("The client records each single duration only on request, and leaves it out of the statistics")
    func samples() {
        var client = CoreClient.connected()
        client.checkConnection()
        client.received(Envelope(event: EventName.pong))
        client.keepSamples()
        client.checkConnection()
        client.advance(by: .milliseconds(5))
        client.received(Envelope(event: EventName.pong))
        client.subscribe("private-a")
        client.advance(by: .milliseconds(7))
        client.authorized("private-a")
        client.closed()
        client.advance(by: .milliseconds(9))
        client.connect()
        client.establish()
        let before = client.statistics
        let samples = client.takeSamples()
        #expect(samples.pingRoundTrip == [.milliseconds(5)])
        #expect(samples.authorizationLatency == [.milliseconds(7)])
        #expect(samples.recovery == [.milliseconds(9)])
        #expect(client.takeSamples().recovery == [])
        #expect(client.statistics == before)
    }
}
