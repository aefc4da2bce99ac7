import PusherEncryption
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Cache channels", .limited, .overEachTransport)
struct CacheTests {
    let world = VirtualWorld()

    static let names = [
        "cache-orders", "private-cache-orders", "private-encrypted-cache-orders", "presence-cache-orders",
    ].filter { SecretBox.isAvailable || !$0.hasPrefix("private-encrypted-") }

    @Test("the client reports an empty cache by an event, to callbacks and sequences", arguments: names)
    func miss(name: String) async throws {
        let pusher = try await world.makeConnectedClient()
        let told = Log<String>()
        let channel = try await world.atOnce {
            let channel = pusher.subscribe(name)
            channel.bind(eventName: "pusher:cache_miss") { told.append($0.eventName) }
            return channel
        }
        var misses = channel.events(named: "pusher:cache_miss").makeAsyncIterator()
        await world.runUntil { told.count == 1 }
        #expect(told.elements == ["pusher:cache_miss"])
        #expect(await misses.next()?.channelName == name)
    }

    @Test("the client delivers the cached event after the subscription", arguments: names)
    func hit(name: String) async throws {
        let first = try await world.makeConnectedClient()
        let channel = first.subscribe(name)
        await world.runUntil { channel.subscribed }
        try world.server.publish(event: "created", data: "7", to: name)
        let pusher = try await world.makeConnectedClient()
        let told = Log<String>()
        let late = try await world.atOnce {
            let channel = pusher.subscribe(name)
            channel.bind { told.append("\($0.eventName) \($0.data ?? "")") }
            return channel
        }
        await world.runUntil { told.elements.last?.hasPrefix("created") == true }
        #expect(told.elements.last == "created 7")
        #expect(told.elements.first?.hasPrefix("pusher:subscription_succeeded") == true)
        #expect(late.subscribed)
    }
}
