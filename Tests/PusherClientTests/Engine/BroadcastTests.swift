import TestTraits
import Testing

@testable import PusherClient

@Suite("Broadcasts", .limited)
struct BroadcastTests {
    @Test("a broadcast forgets a released sequence, and other sequences continue")
    func dropping() async {
        let broadcast = Broadcast<Int> { EventBuffer(.init(count: 10, size: 10_000, of: .init(size: 10_000))) }
        let first = broadcast.makeSequence()
        var second: EventSequence<Int>? = broadcast.makeSequence()
        let third = broadcast.makeSequence()
        weak let buffer = second?.buffer
        second = nil
        #expect(buffer == nil)
        broadcast.send(1)
        for sequence in [first, third] {
            var iterator = sequence.makeAsyncIterator()
            #expect(await iterator.next() == 1)
        }
    }

    @Test("a sequence begins with the latest element if requested, and ends with the broadcast")
    func replaying() async {
        let broadcast = Broadcast(initial: 1) { EventBuffer(.init(count: 10, size: 10_000, of: .init(size: 10_000))) }
        broadcast.send(2)
        var before = broadcast.makeSequence().makeAsyncIterator()
        broadcast.send(3)
        broadcast.finish()
        var after = broadcast.makeSequence().makeAsyncIterator()
        #expect(await before.next() == 2)
        #expect(await before.next() == 3)
        #expect(await before.next() == nil)
        #expect(await after.next() == 3)
        #expect(await after.next() == nil)
    }
}
