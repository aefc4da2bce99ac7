package import NIOCore

extension TimeAmount {
    /// As accurate as nanoseconds in 64 bits; never negative. Rounded up: a timer must not fire before its time.
    package init(clamping duration: Duration) {
        // For larger values, reading the components traps.
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(9_000_000_000)).components
        self = .nanoseconds(seconds * 1_000_000_000 + (attoseconds + 999_999_999) / 1_000_000_000)
    }
}
