import PusherClient
import SignalRClient

/// Retry policies of an app for channels and for a hub, in one file.
package struct Swift6Retries: Sendable {
    private struct ForChannels: PusherClient.RetryPolicy {
        func delay(for context: PusherClient.RetryContext) -> Duration? { context.retryCount < 3 ? .seconds(1) : nil }
    }

    private struct ForHub: HubRetryPolicy {
        func nextRetryInterval(retryContext: HubRetryContext) -> TimeInterval? {
            retryContext.retryCount < 3 ? 1 : nil
        }
    }

    private struct NoReason: Error {}

    package init() {}

    /// Makes clients with the app's policies and with the libraries' policies, and returns the first waits.
    package func firstWaits() -> String {
        let options = PusherClientOptions(cluster: "eu")
        options.retryPolicy = .exponential()
        options.retryPolicy = .atMost(3, .delays([.seconds(1)]))
        options.retryPolicy = ForChannels()
        let builder = HubConnectionBuilder().withUrl(url: "http://localhost/hub")
            .withAutomaticReconnect(.exponential())
            .withAutomaticReconnect(retryPolicy: .atMost(3, .delays([.seconds(1)])))
            .withAutomaticReconnect(ForHub())
        _ = builder.build()
        let channels = options.retryPolicy.delay(
            for: PusherClient.RetryContext(retryCount: 0, elapsed: .zero, reason: NoReason())
        )
        let hub = ForHub().nextRetryInterval(
            retryContext: HubRetryContext(retryCount: 0, elapsed: 0, retryReason: nil)
        )
        return "\(channels.map { "\($0)" } ?? "none") and \(hub.map { "\($0) seconds" } ?? "none")"
    }
}
