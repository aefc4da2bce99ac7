extension Pusher {
    /// The counts since the client was created: connections and the reasons of losses, delivered and dropped events,
    /// and latencies. Reading the statistics takes little time, so an app can read them every second.
    ///
    /// The value is a snapshot. The counts may include only part of the work in progress.
    ///
    /// ```swift
    /// let statistics = pusher.statistics
    /// print(statistics.connections.recovery.longest, statistics.events.dropped)
    /// ```
    public var statistics: PusherStatistics { engine.statistics }
}
