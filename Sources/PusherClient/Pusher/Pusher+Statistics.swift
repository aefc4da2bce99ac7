extension Pusher {
    /// What the client has counted since it was created: connections and how they were lost, events and what became of
    /// them, latencies. It does not wait, and is cheap enough to read every second.
    ///
    /// It is a snapshot of one moment. Work in progress may be counted in part.
    ///
    /// ```swift
    /// let statistics = pusher.statistics
    /// print(statistics.connections.recovery.longest, statistics.events.dropped)
    /// ```
    public var statistics: PusherStatistics { engine.statistics }
}
