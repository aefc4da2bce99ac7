extension Pusher {
    /// Counts since the client was created: connections and how they were lost, events and whether they were delivered
    /// or dropped, latencies. It does not wait, and is cheap enough to read every second.
    ///
    /// It is a snapshot of one moment. Work in progress may be counted in part.
    ///
    /// ```swift
    /// let statistics = pusher.statistics
    /// print(statistics.connections.recovery.longest, statistics.events.dropped)
    /// ```
    public var statistics: PusherStatistics { engine.statistics }
}
