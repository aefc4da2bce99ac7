/// A snapshot of the counts of an event stream since its creation.
public struct EventStreamStatistics: Hashable, Sendable {
    /// The number of attempts to connect.
    public var attempts = 0
    /// The number of attempts that led to an open event stream.
    public var connections = 0
    /// The number of losses and failed attempts after which the client waited to reconnect, by reason.
    public var losses: [EventStreamError.Code: Int] = [:]
    /// The number of bytes that have arrived in the bodies of open event streams.
    public var bytes = 0
    /// The number of events that your code has consumed. The client updates this number only when your code waits for
    /// an event, and when your code stops iterating.
    public var events = 0

    /// Creates the statistics of a stream that has not started.
    public init() {}
}
