#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A monotonic time that all processes of a machine share.
public enum MonotonicTime {
    /// The time in nanoseconds since a point that is the same for all processes.
    public static var nanoseconds: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
    }

    /// The number of digits that ``stamp(_:)`` writes.
    public static let digits = 19

    /// The time in 19 digits.
    public static func stamp(_ nanoseconds: Int) -> String { String(digits: nanoseconds, count: digits) }
}
