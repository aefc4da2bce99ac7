import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeNetworking
import TestSupport
import TestTraits
import Testing

@Suite("Timers by a clock that continues during a suspension", .limited)
struct ClockedTimersTests {
    private let loop = EmbeddedEventLoop()
    private let suspended = NIOLockedValueBox(Duration.zero)
    private let fired = Log<Int>()
    private let timers: ClockedTimers<Int>

    init() {
        // Only this test's thread uses the loop.
        let time = NIOLoopBound(loop, eventLoop: loop)
        timers = ClockedTimers(on: loop) { [suspended] in
            .nanoseconds(Int64(time.value.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
        }
    }

    private func set(_ id: Int, seconds: Int) {
        timers.set(id, after: .seconds(seconds)) { [fired] in fired.append(id) }
    }
    private func suspend(seconds: Int) { suspended.withLockedValue { $0 += .seconds(seconds) } }

    @Test("a timer fires once, at its time")
    func exact() {
        set(1, seconds: 12)
        set(2, seconds: 0)
        loop.advanceTime(by: .zero)
        #expect(fired.elements == [2])
        loop.advanceTime(by: .seconds(12) - .nanoseconds(1))
        #expect(fired.elements == [2])
        loop.advanceTime(by: .nanoseconds(1))
        #expect(fired.elements == [2, 1])
        loop.advanceTime(by: .hours(1))
        #expect(fired.elements == [2, 1] && timers.count == 0)
    }

    @Test("a cancelled timer does not fire, also after a suspension")
    func cancelled() {
        set(1, seconds: 12)
        loop.advanceTime(by: .seconds(6))
        timers.cancel(1)
        suspend(seconds: 100)
        timers.fireDue()
        loop.advanceTime(by: .hours(1))
        #expect(fired.elements == [] && timers.count == 0)
    }

    @Test("after a suspension, due timers fire within seconds, and at the client's next input")
    func suspension() {
        set(1, seconds: 100)
        set(2, seconds: 90)
        set(3, seconds: 200)
        suspend(seconds: 99)
        timers.fireDue()
        #expect(fired.elements == [2])
        suspend(seconds: 1)
        loop.advanceTime(by: .seconds(5))
        #expect(fired.elements == [2, 1])
        loop.advanceTime(by: .seconds(94))
        #expect(fired.elements == [2, 1])
        loop.advanceTime(by: .seconds(1))
        #expect(fired.elements == [2, 1, 3] && timers.count == 0)
    }

    @Test("a running timer does not keep the table in memory")
    func released() {
        var timers: ClockedTimers<Int>? = ClockedTimers(on: loop) { .zero }
        timers?.set(1, after: .seconds(100)) {}
        let isReleased = { [weak timers] in timers == nil }
        timers = nil
        #expect(isReleased())
    }

    @Test("a timer that another timer cancels does not fire")
    func cancelledByAnother() {
        timers.set(1, after: .seconds(1)) { [timers, fired] in
            fired.append(1)
            timers.cancel(2)
        }
        set(2, seconds: 2)
        suspend(seconds: 10)
        timers.fireDue()
        #expect(fired.elements == [1] && timers.count == 0)
    }
}
