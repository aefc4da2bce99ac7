package import NIOCore

extension TimeAmount {
    /// As near as nanoseconds in 64 bits come; never negative. Rounded up: a timer must not fire before its time.
    package init(clamping duration: Duration) {
        // Beyond this the components cannot be had.
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(9_000_000_000)).components
        self = .nanoseconds(seconds * 1_000_000_000 + (attoseconds + 999_999_999) / 1_000_000_000)
    }
}
