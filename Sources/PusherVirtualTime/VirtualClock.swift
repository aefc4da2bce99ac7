import NIOConcurrencyHelpers

/// The clock of a ``VirtualTime``, for your app's own waits.
///
/// Let your app take its clock from outside, as `any Clock<Duration>`. In production, pass `ContinuousClock()`, and in
/// virtual time ``VirtualTime/clock``:
///
/// ```swift
/// try await clock.sleep(for: .seconds(5))    // returns during `await time.advance(by: .seconds(5))`
/// ```
/// The instants are those of `ContinuousClock`, so that you can compare them with the instants of a `ConnectionStatus`.
public struct VirtualClock: Clock, CustomStringConvertible, CustomReflectable {
    /// The type of the clock's instants.
    public typealias Instant = ContinuousClock.Instant
    /// The type of the clock's durations.
    public typealias Duration = Swift.Duration

    let scheduler: VirtualScheduler

    /// The virtual time that has passed, for example `VirtualClock(150.0 seconds)`.
    public var description: String { "VirtualClock(\(scheduler.elapsed))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// The virtual time.
    public var now: ContinuousClock.Instant { scheduler.now }

    /// The smallest step of the clock: 1 ns.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Waits until the virtual time has reached the deadline, in real time for as long as the test takes to get there.
    ///
    /// - Parameters:
    ///   - deadline: The end of the wait. If it has passed, the call returns at once.
    ///   - tolerance: Has no effect. The wait ends exactly at the deadline.
    /// - Throws: `CancellationError` if the task is cancelled, or if the closure of
    ///   ``PusherTestServer/PusherTestServer/withVirtualTime(seed:options:_:)`` has returned.
    public func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration? = nil) async throws {
        try await scheduler.sleep(until: deadline)
    }
}
