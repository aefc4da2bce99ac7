import NIOConcurrencyHelpers
package import NIOCore

/// A clock for tests with virtual time. The clock continues while the machine is suspended, but timers do not.
package struct SuspendableClock: Sendable {
    private let start = ContinuousClock.now
    private let suspended = NIOLockedValueBox(Duration.zero)
    private let timers: @Sendable () -> NIODeadline

    /// - Parameter timers: The time of the event loop.
    package init(_ timers: @escaping @Sendable () -> NIODeadline) { self.timers = timers }

    package var now: ContinuousClock.Instant {
        start + .nanoseconds(Int64(timers().uptimeNanoseconds)) + suspended.withLockedValue { $0 }
    }

    package func suspend(for duration: Duration) { suspended.withLockedValue { $0 += duration } }
}
