import RealtimePrimitives
import TestTraits
import Testing

/// The tests give the reconnector inputs, and compare its actions with the expected actions.
@Suite("When a client connects", .limited)
struct ReconnectorTests {
    typealias Machine = Reconnector<String>

    private static func machine(attemptTimeout: Duration? = .seconds(15)) -> Machine {
        Machine(attemptTimeout: attemptTimeout, backOffReset: .seconds(10))
    }

    /// Returns a reconnector whose first connection has been open since second 0.
    private static func open() -> Machine {
        var machine = machine()
        _ = machine.open(now: .zero)
        machine.opened(now: .zero)
        return machine
    }

    private static func asking() -> Machine {
        var machine = open()
        _ = machine.lost("lost", .ask(), now: .zero)
        return machine
    }

    private static func waiting() -> Machine {
        var machine = asking()
        _ = machine.decided(1, delay: .seconds(7), now: .zero)
        return machine
    }

    @Test("connects again after a loss, the policy's answer and a wait")
    func life() {
        var machine = Self.machine()
        #expect(machine.phase == .idle && machine.wakeUp == nil)
        #expect(machine.open(now: .seconds(1)) == .open(1))
        #expect(machine.wakeUp == .seconds(16))
        machine.opened(now: .seconds(2))
        #expect(machine.phase == .open(since: .seconds(2)) && machine.wakeUp == nil)
        #expect(
            machine.lost("lost", .ask(), now: .seconds(5))
                == .ask(.init(1, retryCount: 0, elapsed: .zero, reason: "lost"))
        )
        #expect(machine.wakeUp == nil)
        #expect(
            machine.decided(1, delay: .seconds(7), now: .seconds(6))
                == .wait(until: .seconds(13), attempt: 2, "lost")
        )
        #expect(machine.wakeUp == .seconds(13))
        #expect(machine.wake(now: .seconds(12)) == nil)
        #expect(machine.wake(now: .seconds(13)) == .open(2))
        #expect(machine.wakeUp == .seconds(28))
        // The count and the time since the loss continue until there is a connection.
        #expect(
            machine.lost("failed", .ask(), now: .seconds(14))
                == .ask(.init(2, retryCount: 1, elapsed: .seconds(9), reason: "failed"))
        )
    }

    @Test("an attempt that takes too long is reported, and counts as part of the time without a connection")
    func timeOut() {
        var machine = Self.machine()
        _ = machine.open(now: .zero)
        #expect(machine.wake(now: .seconds(14)) == nil)
        #expect(machine.wake(now: .seconds(15)) == .timeOut(1))
        #expect(
            machine.lost("late", .ask(), now: .seconds(15))
                == .ask(.init(1, retryCount: 0, elapsed: .seconds(15), reason: "late"))
        )
        var unlimited = Self.machine(attemptTimeout: nil)
        _ = unlimited.open(now: .zero)
        #expect(unlimited.wakeUp == nil)
    }

    @Test("only a connection that has lasted long enough may reset the number of retries")
    func reset() {
        var machine = Self.waiting()
        _ = machine.wake(now: .seconds(7))
        #expect(!machine.hasLasted(now: .seconds(100)))
        machine.opened(now: .seconds(8))
        #expect(!machine.hasLasted(now: .seconds(17)))
        #expect(machine.hasLasted(now: .seconds(18)))
        #expect(machine.retryCount == 1)
        machine.resetBackOff()
        #expect(
            machine.lost("lost", .ask(), now: .seconds(18))
                == .ask(.init(2, retryCount: 0, elapsed: .zero, reason: "lost"))
        )
    }

    @Test(
        "the wait is at least the minimum, and at most a year",
        arguments: [
            (.seconds(1), .zero, .seconds(1)), (.seconds(1), .seconds(3), .seconds(3)), (.seconds(-1), .zero, .zero),
            (.seconds(1), .seconds(-3), .seconds(1)), (.seconds(Int64.max), .zero, .seconds(31_536_000)),
            (.zero, .seconds(Int64.max), .seconds(31_536_000)),
        ] as [(Duration, Duration, Duration)]
    )
    func limits(delay: Duration, minimum: Duration, wait: Duration) {
        var machine = Self.open()
        _ = machine.lost("lost", .ask(minimumDelay: minimum), now: .seconds(1))
        _ = machine.decided(1, delay: delay, now: .seconds(1))
        #expect(machine.wakeUp == .seconds(1) + wait)
    }

    @Test("a loss that ends the attempts, and the app's next attempt begins a new count and a new outage")
    func stopped() {
        var machine = Self.waiting()
        #expect(machine.wake(now: .seconds(7)) == .open(2))
        #expect(machine.retryCount == 1 && machine.outageStart == .zero)
        #expect(machine.lost("refused", .stop, now: .seconds(8)) == .stop("refused"))
        #expect(machine.phase == .ended && machine.wakeUp == nil)
        #expect(machine.open(now: .seconds(9)) == .open(3))
        #expect(
            machine.lost("failed", .ask(), now: .seconds(10))
                == .ask(.init(3, retryCount: 0, elapsed: .seconds(1), reason: "failed"))
        )
    }

    @Test("an attempt after a wait that ended during a suspension has its whole time")
    func lateWake() {
        var machine = Self.waiting()
        #expect(machine.wake(now: .seconds(3_600)) == .open(2))
        #expect(machine.phase == .opening(until: .seconds(3_615)) && machine.wakeUp == .seconds(3_615))
        #expect(machine.wake(now: .seconds(3_614)) == nil)
        #expect(machine.wake(now: .seconds(3_615)) == .timeOut(2))
    }

    @Test("the time without a connection begins at the loss, even if the client handles the loss later")
    func earlierLoss() {
        var machine = Self.open()
        machine.outageBegan(now: .seconds(20))
        #expect(machine.hasLasted(now: .seconds(20)))
        machine.outageBegan(now: .seconds(25))
        #expect(
            machine.lost("lost", .ask(), now: .seconds(50))
                == .ask(.init(1, retryCount: 0, elapsed: .seconds(30), reason: "lost"))
        )
    }

    @Test("stops with the reason of the loss if the policy allows no attempt")
    func noAttempt() {
        var machine = Self.asking()
        #expect(machine.decided(1, delay: nil, now: .seconds(1)) == .stop("lost"))
        #expect(machine.phase == .ended)
    }

    @Test("an answer of the policy counts only for the current question")
    func stale() {
        var machine = Self.asking()
        #expect(machine.decided(0, delay: .zero, now: .zero) == nil)
        // The app does not wait for the answer.
        _ = machine.open(now: .zero)
        #expect(machine.decided(1, delay: .zero, now: .zero) == nil)
        _ = machine.lost("failed", .ask(), now: .zero)
        #expect(machine.decided(1, delay: nil, now: .zero) == nil)
        #expect(machine.decided(2, delay: .zero, now: .zero) != nil)
        #expect(machine.decided(2, delay: .zero, now: .zero) == nil)
    }

    @Test("after the end, no time and no answer begins an attempt")
    func ended() {
        for machine in [Self.machine(), Self.open(), Self.asking(), Self.waiting()] {
            var machine = machine
            machine.stop()
            #expect(machine.wakeUp == nil && machine.wake(now: .seconds(3_600)) == nil)
            #expect(machine.decided(1, delay: .zero, now: .zero) == nil)
            #expect(machine.phase == .ended)
        }
    }
}
