import NIOEmbedded
import TestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("Buffers of sequences", .limited)
struct EventBufferTests {
    private let buffer = EventBuffer<Int>(
        .init(count: 3, size: 1_000, of: .init(size: 10_000)),
        awaitedBy: NIOAsyncTestingEventLoop()
    )

    /// Starts a task that waits for the next element, and returns when the task is waiting.
    private func waiting() async -> Task<Int?, Never> {
        let before = buffer.waitingCount
        let task = Task { await buffer.next() }
        await waitUntil { buffer.waitingCount > before }
        return task
    }

    @Test("adding several elements requests one wake-up of a waiting task")
    func wokenOnce() async {
        let first = await waiting()
        #expect(buffer.append([1]).mustWake)
        #expect(!buffer.append([2]).mustWake)
        #expect(buffer.waitingCount == 1)
        buffer.wake()
        #expect(await first.value == 1)
        #expect(await buffer.next() == 2)
        let second = await waiting()
        #expect(buffer.append([3]).mustWake)
        buffer.wake()
        #expect(await second.value == 3)
    }

    @Test("each waiting task gets one element, in the order of the calls")
    func several() async {
        let first = await waiting()
        let second = await waiting()
        let third = await waiting()
        _ = buffer.append([1])
        _ = buffer.append([2])
        buffer.wake()
        #expect(await first.value == 1)
        #expect(await second.value == 2)
        buffer.add(3)
        #expect(await third.value == 3)
    }

    @Test("the buffer drops no element at its limit while a task waits for an element")
    func full() async {
        let first = await waiting()
        for number in 1...4 {
            let addition = buffer.append([number])
            #expect(addition.drop.count == 0)
            #expect(addition.mustAwait == (number == 4))
        }
        buffer.wake()
        #expect(await first.value == 1)
        #expect(buffer.isAwaited)
        for number in 2...3 { #expect(await buffer.next() == number) }
        #expect(!buffer.isAwaited)
        #expect(buffer.droppedCount == 0)
    }

    @Test("a new task can take an element before the waiting task is woken, and the waiting task keeps waiting")
    func overtaken() async {
        let first = await waiting()
        _ = buffer.append([1])
        #expect(await buffer.next() == 1)
        buffer.wake()
        #expect(buffer.waitingCount == 1)
        buffer.add(2)
        #expect(await first.value == 2)
    }

    @Test("the end of the sequence comes after all earlier elements")
    func end() async {
        let first = await waiting()
        let second = await waiting()
        _ = buffer.append([1])
        buffer.finish()
        #expect(await first.value == 1)
        #expect(await second.value == nil)
        #expect(await buffer.next() == nil)
    }

    @Test("cancelling a wait before its wake-up loses no element")
    func cancelled() async {
        let first = await waiting()
        _ = buffer.append([1])
        first.cancel()
        #expect(await first.value == nil)
        buffer.wake()
        #expect(await buffer.next() == 1)
    }
}
