import NIOConcurrencyHelpers
package import NIOCore
package import RealtimePrimitives

/// The shell around a client's state machine. It passes the inputs to the machine and carries out the actions, both on
/// one event loop.
package protocol LoopShell: AnyObject, Sendable {
    associatedtype Machine: LoopMachine
    /// The state that observers can follow.
    associatedtype State: Sendable

    var driver: MachineDriver<Machine, State> { get }

    /// Passes the machine the input that it needs at `LoopMachine.wakeUp`.
    func wake(_ machine: inout Machine, now: Duration) -> [Machine.Action]

    func run(_ action: Machine.Action)

    /// Carries out the actions that one input led to. Default: runs each action.
    func run(all actions: [Machine.Action])
}

/// The machine of a ``LoopShell``, with its event loop, its clock, its timer and its observers.
package final class MachineDriver<Machine: LoopMachine, State: Sendable>: Sendable {
    /// The state that only the event loop uses. It's an object, because each look into a box copies its value, and a
    /// machine is large.
    fileprivate final class Loop {
        var machine: Machine
        var isStepping = false
        var timer: (due: Duration, scheduled: Scheduled<Void>)?

        init(_ machine: Machine) { self.machine = machine }
    }

    package let eventLoop: any EventLoop
    package let state: ObservableState<State>
    fileprivate let loop: NIOLoopBoundBox<Loop>
    private let clock: @Sendable () -> ContinuousClock.Instant
    /// The time at which the machine's clock was zero.
    private let origin: ContinuousClock.Instant

    /// - Parameter clock: A clock that continues while the computer is suspended; `nil` for the computer's clock.
    package init(
        _ machine: Machine,
        _ state: State,
        on eventLoop: any EventLoop,
        clock: (@Sendable () -> ContinuousClock.Instant)? = nil
    ) {
        self.eventLoop = eventLoop
        self.state = ObservableState(state)
        self.clock = clock ?? { .now }
        origin = self.clock()
        loop = .makeBoxSendingValue(Loop(machine), eventLoop: eventLoop)
    }

    /// The time of the machine.
    package var now: Duration { clock() - origin }

    /// Converts a time of the machine.
    package func instant(_ time: Duration) -> ContinuousClock.Instant { origin + time }

    /// The machine, for inputs without actions. Only the event loop may use the property.
    package var machine: Machine {
        _read { yield loop.value.machine }
        _modify { yield &loop.value.machine }
    }
}

extension LoopShell {
    package func run(all actions: [Machine.Action]) { for action in actions { run(action) } }

    package var state: State { driver.state.value }

    package func states() -> AsyncStream<State> { driver.state.values() }

    /// Waits for a state from which the closure makes a result, and returns the value of the result. The closure must make
    /// one from the final state.
    ///
    /// - Parameters:
    ///   - timeout: The time limit; `nil` for no limit.
    ///   - late: The error after the time limit.
    /// - Throws: The error of the result, `late`, or `CancellationError` if the task is cancelled.
    package func wait<Value: Sendable, Failure: Error>(
        within timeout: Duration?,
        orThrow late: @autoclosure () -> Failure,
        for result: @escaping @Sendable (State) -> Result<Value, Failure>?
    ) async throws -> Value {
        guard let result = try await driver.state.first(within: timeout, on: driver.eventLoop, result) else {
            throw late()
        }
        return try result.get()
    }

    /// Passes an input to the machine, and carries out the actions. On the event loop, the machine gets the input at
    /// once, so the shell handles events in order. If the shell is carrying out another action, the input waits.
    ///
    /// - Parameter catchesUp: Whether the machine first handles the time that was over during a suspension. The value is
    ///   `false` for events of the connection. Data may have waited since before the suspension, so the machine decides
    ///   what it shows.
    package func step(
        catchesUp: Bool = true,
        _ input: @escaping @Sendable (inout Machine, Duration) -> [Machine.Action]
    ) {
        guard driver.eventLoop.inEventLoop, !driver.loop.value.isStepping else {
            return driver.eventLoop.execute { self.step(catchesUp: catchesUp, input) }
        }
        let loop = driver.loop.value
        loop.isStepping = true
        let now = driver.now
        if catchesUp, let wakeUp = Self.wakeUp(of: &loop.machine), wakeUp <= now {
            run(all: wake(&loop.machine, now: now))
        }
        run(all: input(&loop.machine, now))
        loop.isStepping = false
        setTimer(loop)
    }

    /// Returns the machine's next time. The parameter is `inout`, so that the call does not copy the machine.
    private static func wakeUp(of machine: inout Machine) -> Duration? { machine.wakeUp }

    /// Sets the timer for the machine's next time. The event loop's timers stop during a suspension, so the timer also
    /// fires every few seconds, to look at the clock.
    private func setTimer(_ loop: MachineDriver<Machine, State>.Loop) {
        let wakeUp = Self.wakeUp(of: &loop.machine)
        guard loop.timer?.due != wakeUp else { return }
        loop.timer?.scheduled.cancel()
        loop.timer = wakeUp.map { due in
            let wait = min(due - driver.now, Suspension.checkInterval)
            return (
                due,
                driver.eventLoop.scheduleTask(in: TimeAmount(clamping: wait)) { [weak self] in
                    // A timer that is due runs even if an earlier task of this turn of the loop has cancelled it.
                    guard let self, driver.loop.value.timer?.due == due else { return }
                    driver.loop.value.timer = nil
                    step { _, _ in [] }
                }
            )
        }
    }
}
