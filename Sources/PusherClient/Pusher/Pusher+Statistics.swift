extension Pusher {
    /// What the client has counted since it was made: connections and how they were lost, events and where they stayed,
    /// latencies. One look at the state: cheap enough to be taken every second, and never waited for.
    ///
    /// It is a snapshot of one moment; of what the client is just at, some may be counted and some not yet.
    ///
    /// ```swift
    /// let statistics = pusher.statistics
    /// print(statistics.connections.recovery.longest, statistics.events.dropped)
    /// ```
    public var statistics: PusherStatistics { engine.statistics }
}
