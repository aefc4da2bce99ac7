import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import RealtimeNetworking
import RealtimePrimitives
import TestSupport
import TestTraits
import Testing

/// A machine that reports when it was called.
private struct AlarmClock: LoopMachine {
    enum Action: Sendable, Equatable {
        case note(String)
        case again
    }

    var wakeUp: Duration?

    mutating func set(_ time: Duration?) -> [Action] {
        wakeUp = time
        return [.note("set")]
    }

    mutating func wake(now: Duration) -> [Action] {
        wakeUp = nil
        return [.note("woken at \(now / .seconds(1))")]
    }
}

private final class AlarmShell: LoopShell {
    let driver: MachineDriver<AlarmClock, Int>
    let notes = Log<String>()

    init(on eventLoop: any EventLoop, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
        driver = MachineDriver(AlarmClock(), 0, on: eventLoop, clock: clock)
    }

    func wake(_ machine: inout AlarmClock, now: Duration) -> [AlarmClock.Action] { machine.wake(now: now) }

    func run(_ action: AlarmClock.Action) {
        switch action {
        case .note(let text): notes.append(text)
        case .again:
            step { _, _ in [.note("second")] }
            notes.append("first")
        }
    }
}

@Suite("The shell around a machine", .limited)
struct LoopShellTests {
    private let loop = EmbeddedEventLoop()
    private let suspended = NIOLockedValueBox(Duration.zero)
    private let shell: AlarmShell

    init() {
        // Only this test's thread uses the loop.
        let time = NIOLoopBound(loop, eventLoop: loop)
        let origin = ContinuousClock.now
        shell = AlarmShell(on: loop) { [suspended] in
            origin + .nanoseconds(Int64(time.value.now.uptimeNanoseconds)) + suspended.withLockedValue { $0 }
        }
    }

    private func set(seconds: Int?) {
        shell.step(catchesUp: false) { machine, _ in machine.set(seconds.map { .seconds($0) }) }
    }
    private func suspend(seconds: Int) { suspended.withLockedValue { $0 += .seconds(seconds) } }
    private func advance(seconds: Int) { loop.advanceTime(by: .seconds(Int64(seconds))) }

    @Test("the machine is woken once, at its time")
    func exact() {
        set(seconds: 12)
        loop.advanceTime(by: .seconds(12) - .nanoseconds(1))
        #expect(shell.notes.take() == ["set"])
        loop.advanceTime(by: .nanoseconds(1))
        advance(seconds: 3_600)
        #expect(shell.notes.take() == ["woken at 12.0"])
    }

    @Test("a changed time replaces the earlier time, and no time ends the wait")
    func changed() {
        set(seconds: 12)
        set(seconds: 7)
        advance(seconds: 7)
        #expect(shell.notes.take() == ["set", "set", "woken at 7.0"])
        set(seconds: 20)
        set(seconds: nil)
        suspend(seconds: 3_600)
        advance(seconds: 3_600)
        #expect(shell.notes.take() == ["set", "set"])
    }

    @Test("after a suspension, the machine is woken within seconds, or before the next call of the app")
    func suspension() {
        set(seconds: 100)
        suspend(seconds: 99)
        advance(seconds: 5)
        #expect(shell.notes.take() == ["set", "woken at 104.0"])
        set(seconds: 200)
        suspend(seconds: 100)
        shell.step { _, _ in [.note("called")] }
        #expect(shell.notes.take() == ["set", "woken at 204.0", "called"])
    }

    @Test("data of the connection does not wake the machine first")
    func data() {
        set(seconds: 100)
        suspend(seconds: 200)
        shell.step(catchesUp: false) { machine, _ in machine.set(nil) + [.note("arrived")] }
        advance(seconds: 10)
        #expect(shell.notes.take() == ["set", "set", "arrived"])
    }

    @Test("an input during an action waits until the action has been carried out")
    func nested() {
        shell.step { _, _ in [.again, .note("third")] }
        loop.run()
        #expect(shell.notes.take() == ["first", "third", "second"])
    }

    @Test("a waiting machine does not keep its shell in memory")
    func released() {
        var shell: AlarmShell? = AlarmShell(on: loop) { .now }
        shell?.step { machine, _ in machine.set(.seconds(100)) }
        let isReleased = { [weak shell] in shell == nil }
        shell = nil
        #expect(isReleased())
    }
}
