import ClientTestSupport
import Dispatch
import NIOConcurrencyHelpers
import PusherTestServer
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

/// Tests of calls from several threads at once. PusherSwift loses changes if two threads change a value at the same
/// time.
@Suite("Calls from many threads at once", .limited)
struct ManyThreadsTests {
    let world = VirtualWorld()

    @Test("no callback is lost when several threads bind and unbind callbacks at once")
    func bind() async throws {
        let pusher = try await world.makeConnectedClient()
        let channel = pusher.subscribe("orders")
        await world.run()
        let calls = Log<String>()
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<100 {
                let id = channel.bind(eventName: "e") { _ in calls.append("unbound") }
                channel.bind(eventName: "e") { _ in calls.append("channel") }
                pusher.bind { _ in calls.append("client") }
                channel.unbind(eventName: "e", callbackId: id)
            }
        }
        world.server.sendEvent("e", channel: "orders")
        await world.run()
        #expect(calls.elements.count { $0 == "channel" } == 800)
        #expect(calls.elements.count { $0 == "client" } == 800)
        #expect(calls.count == 1_600)
    }

    @Test("threads that subscribe to one name get one channel and one subscription")
    func subscribe() async throws {
        let pusher = try await world.makeConnectedClient()
        let channels = Log<PusherChannel>()
        for round in 0..<50 {
            DispatchQueue.concurrentPerform(iterations: 8) { _ in channels.append(pusher.subscribe("orders-\(round)")) }
        }
        await world.run()
        #expect(channels.count == 400)
        #expect(Set(channels.elements).count == 50)
        #expect(pusher.connection.channels.channels.count == 50)
        #expect(world.server.receivedMessages().count { $0.contains("pusher:subscribe") } == 50)
    }

    @Test("no waiting client event is lost when threads trigger many at once")
    func trigger() async throws {
        let limits = PusherClientOptions.Limits(clientEventsPerSecond: nil)
        let pusher = try await world.makeConnectedClient(.virtual(limits: limits))
        world.server.failAuthorizations(1, with: .delayed(.seconds(1)))
        let channel = pusher.subscribe("private-chat")
        await world.runUntil { world.server.authorizationRequests.count == 1 }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for number in 0..<12 { channel.trigger(eventName: "client-a", data: "\(thread) \(number)") }
        }
        await world.advance(by: .seconds(1))
        await world.runUntil { channel.subscribed }
        let sent = world.server.receivedMessages().filter { $0.contains("client-a") }
        #expect(sent.count == 96)
        #expect(Set(sent).count == 96)
    }

    @Test("a thread sees either all members or none while other connections open and close")
    func members() async throws {
        var pushers: [Pusher] = []
        var rooms: [PusherPresenceChannel] = []
        for user in ["ada", "bob", "eve"] {
            let pusher = try await world.makeConnectedClient(.virtual(user: user))
            let room = pusher.subscribeToPresenceChannel(channelName: "presence-room")
            await world.runUntil { room.subscribed }
            pushers.append(pusher)
            rooms.append(room)
        }
        let (pusher, room) = (pushers[2], rooms[2])
        let isDone = NIOLockedValueBox(false)
        let readers = (0..<2).map { _ in
            Task {
                var counts: Set<Int> = []
                while !isDone.withLockedValue({ $0 }) {
                    counts.insert(room.members.count)
                    await Task.yield()
                }
                return counts
            }
        }
        for _ in 1...20 {
            world.server.dropConnections(.socket(try #require(pusher.connection.socketId)))
            await world.advance(by: .seconds(1))
            await world.runUntil { room.subscribed }
        }
        isDone.withLockedValue { $0 = true }
        for reader in readers {
            let counts = await reader.value
            #expect(counts.contains(3))
            #expect(counts.isSubset(of: [0, 3]))
        }
    }
}
