import PusherClient

#if Metrics
    import CoreMetrics
#endif

/// The examples of the article "Observing a client", as functions that the tests call.
enum Observing {
    static func countdown(_ pusher: Pusher, show: @Sendable (String) -> Void) async {
        for await status in pusher.statuses(every: .seconds(1)) {
            if let remaining = status.remaining() {
                show("retrying in \(Int((remaining / .seconds(1)).rounded(.up))) s")
            } else {
                show("\(status)")
            }
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
