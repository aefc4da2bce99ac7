/// The counts of an event stream since it was created. The value does not change.
public struct EventStreamStatistics: Hashable, Sendable {
    /// How often the client has tried to connect.
    public var attempts = 0
    /// How many attempts led to an open event stream.
    public var connections = 0
    /// How often the client has waited to reconnect, by the reason.
    public var losses: [EventStreamError.Code: Int] = [:]
    /// How many bytes have arrived in the bodies of open event streams.
    public var bytes = 0
    /// How many events your code has consumed. The number is updated each time that your code waits for an event, and
    /// when it stops iterating.
    public var events = 0

    /// Creates the statistics of a stream that has not started.
    public init() {}
}
