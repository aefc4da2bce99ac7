import PusherProtocol
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Cache channels", .limited)
struct CacheTests {
    private static let channels = [
        "cache-x", "private-cache-x", "private-encrypted-cache-x", "presence-cache-x",
    ]

    @Test("a new subscriber gets the last published event, or a cache miss", arguments: channels)
    func replay(channel: String) throws {
        var server = BrainTranscript.connected(3)
        let success = EventName.subscriptionSucceededInternal
        #expect(server.join(1, channel, "1").events == [success, EventName.cacheMiss])
        _ = try server.publish("first", "1", [channel])
        _ = try server.publish("last", "2", [channel], excluding: "7.1")
        let actions = server.join(2, channel, "1")
        #expect(actions.events == [success, "last"])
        #expect(actions.last == .send(2, message("last", "2", channel)))
        server.brain.now = .seconds(1_800)
        #expect(server.join(3, channel, "1").events == [success, EventName.cacheMiss])
    }

    @Test("the server keeps an event without subscribers for the given time, and can delete it")
    func lifetime() throws {
        var server = BrainTranscript.connected(4) { $0.cacheLifetime = .seconds(2) }
        _ = try server.publish("e", "1", ["cache-x", "cache-y"])
        server.brain.now = .milliseconds(1_999)
        #expect(server.subscribe(1, "cache-x").events.last == "e")
        _ = server.brain.forgetCachedEvents(of: "cache-x")
        #expect(server.subscribe(2, "cache-x").events.last == EventName.cacheMiss)
        #expect(server.subscribe(2, "cache-y").events.last == "e")
        _ = server.brain.forgetCachedEvents(of: nil)
        #expect(server.subscribe(3, "cache-y").events.last == EventName.cacheMiss)
    }

    @Test("the server caches neither client events nor events of other channels")
    func notKept() throws {
        var server = BrainTranscript.connected(3)
        for number in 1...2 { _ = server.authorize(number, "private-cache-x") }
        #expect(server.clientEvent(1, "client-e", "{}", "private-cache-x").events == ["client-e"])
        #expect(server.authorize(3, "private-cache-x").events.last == EventName.cacheMiss)
        _ = try server.publish("e", "1", ["x", "my-cache-x"])
        #expect(server.subscribe(1, "x").events.count == 1)
        #expect(server.subscribe(1, "my-cache-x").events.count == 1)
    }

    @Test("the server removes expired events from memory")
    func sweep() throws {
        var server = BrainTranscript { $0.cacheLifetime = .seconds(1) }
        for number in 0..<5_000 {
            server.brain.now = .milliseconds(number)
            _ = try server.publish("e", "1", ["cache-\(number)"])
        }
        #expect(server.brain.cachedEvents.count < 1_100)
    }

    @Test(
        "each dialect sends pusher:cache_miss in its own form",
        arguments: [
            (Dialect.pusher, #"{"event":"pusher:cache_miss","channel":"cache-x"}"#),
            (.soketi, #"{"event":"pusher:cache_miss","channel":"cache-x"}"#),
            (.reverb, #"{"event":"pusher:cache_miss","channel":"cache-x"}"#),
            (.pylon, #"{"event":"pusher:cache_miss","channel":"cache-x"}"#),
            (.pusherFake, #"{"event":"pusher:cache_miss","data":"null","channel":"cache-x"}"#),
            (.ipe, nil), (.poxa, nil), (.slanger, nil),
        ] as [(Dialect, String?)]
    )
    func misses(dialect: Dialect, text: String?) {
        var server = BrainTranscript.connected { $0.dialect = dialect }
        #expect(server.subscribe(1, "cache-x").texts(to: 1).dropFirst() == (text.map { [$0] } ?? [])[...])
    }

    @Test("pusher-fake supports public cache channels only")
    func pusherFake() {
        var server = BrainTranscript.connected { $0.dialect = .pusherFake }
        #expect(server.authorize(1, "private-cache-x").events == [EventName.subscriptionSucceededInternal])
    }

    @Test("Reverb does not support encrypted cache channels")
    func reverb() {
        var server = BrainTranscript.connected { $0.dialect = .reverb }
        let success = EventName.subscriptionSucceededInternal
        #expect(server.authorize(1, "private-encrypted-cache-x").events == [success])
        #expect(server.authorize(1, "private-cache-x").events == [success, EventName.cacheMiss])
    }

    @Test("pusher:cache_miss precedes the subscription count")
    func order() {
        var server = BrainTranscript.connected { $0.sendsSubscriptionCounts = true }
        #expect(
            server.subscribe(1, "cache-x").events == [
                EventName.subscriptionSucceededInternal, EventName.cacheMiss, EventName.subscriptionCountInternal,
            ]
        )
    }
}
