import PusherClient

#if Metrics
    import CoreMetrics
#endif

/// What the article "Observing a client" shows, as functions that the tests call.
enum Observing {
    static func countdown(_ pusher: Pusher, show: @escaping @Sendable (String) -> Void) async {
        var countdown: Task<Void, any Error>?
        defer { countdown?.cancel() }
        for await status in pusher.statuses {
            countdown?.cancel()
            countdown = Task {
                while let remaining = status.remaining(), remaining > .zero {
                    show("retrying in \(Int((remaining / .seconds(1)).rounded(.up))) s")
                    try await Task.sleep(for: .seconds(1))
                }
            }
            if status.remaining() == nil { show("\(status)") }
        }
    }

    static func report(_ pusher: Pusher, show: (String) -> Void) {
        let statistics = pusher.statistics
        let connections = statistics.connections
        show("\(connections.established) connections, lost \(connections.lost)")
        show("recovered \(connections.recovery.count) times, in \(connections.recovery.longest) at the most")
        show("\(statistics.events.delivered) events, dropped \(statistics.events.dropped)")
    }

    #if Metrics
        static func emit(_ pusher: Pusher, to factory: any MetricsFactory) {
            pusher.emitMetrics(to: factory, dimensions: [("client", "orders")])
        }
    #endif
}
