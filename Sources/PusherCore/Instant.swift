/// A time on the machines' clock, as the duration since an origin that the shell chooses. The clock continues while the
/// computer is suspended.
///
/// This type replaces `ContinuousClock.Instant`, whose layout the compiler does not know. Most of the client's state
/// contains an instant. With `ContinuousClock.Instant`, the compiler could not generate direct copies and comparisons
/// of these values.
package struct Instant: Hashable, Comparable, Sendable {
    private var elapsed: Duration

    package init(after elapsed: Duration = .zero) { self.elapsed = elapsed }

    /// - Parameter origin: The value of the clock that becomes zero.
    package init(_ instant: ContinuousClock.Instant, since origin: ContinuousClock.Instant) {
        elapsed = origin.duration(to: instant)
    }

    package func value(since origin: ContinuousClock.Instant) -> ContinuousClock.Instant { origin + elapsed }

    package static func < (left: Self, right: Self) -> Bool { left.elapsed < right.elapsed }
    package static func + (left: Self, right: Duration) -> Self { Self(after: left.elapsed + right) }
    package static func += (left: inout Self, right: Duration) { left.elapsed += right }
    package static func - (left: Self, right: Self) -> Duration { left.elapsed - right.elapsed }
}
