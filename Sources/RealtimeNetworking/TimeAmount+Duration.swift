package import NIOCore

extension TimeAmount {
    /// Creates a time amount from a duration, limited to the range from 0 to 9,000,000,000 seconds. The initializer
    /// rounds up, because a timer must not fire too early.
    package init(clamping duration: Duration) {
        // For larger values, the conversion to nanoseconds traps.
        let (seconds, attoseconds) = min(max(duration, .zero), .seconds(9e9)).components
        self = .nanoseconds(seconds * 1_000_000_000 + (attoseconds + 999_999_999) / 1_000_000_000)
    }
}
