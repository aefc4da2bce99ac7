import NIOCore

extension Duration {
    /// Creates a duration between zero and 10⁹ seconds. A clock traps if it cannot represent the end of a wait. For
    /// NaN, the duration is zero.
    init(limitingSeconds seconds: Double) { self = .seconds(seconds > 0 ? min(seconds, 1e9) : 0) }
}

extension TimeAmount {
    /// Creates a time amount with the limits of `Duration(limitingSeconds:)`.
    init(limitingSeconds seconds: Double) { self.init(Duration(limitingSeconds: seconds)) }
}
