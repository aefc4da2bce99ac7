import ClientTestSupport
import PusherClient
import PusherTestServer
import TestSupport
import TestTraits
import Testing

#if Metrics
    import CoreMetrics
#endif

@Suite("The programs of the article on observing a client", .limited)
struct ObservingTests {
    init() { DefaultLogger.silence() }

    @Test("the user sees the time until the next attempt, and the app's report contains the client's counts")
    func observing() async throws {
        let server = PusherTestServer()
        try await server.start()
        let endpoint = PusherEndpoint(host: server.host, port: server.port, useTLS: server.usesTLS)
        let pusher = Pusher(
            key: "app-key",
            options: PusherClientOptions(endpoint: endpoint, retryPolicy: .delays([.milliseconds(500)]))
        )
        #if Metrics
            Observing.emit(pusher, to: NOOPMetricsHandler.instance)
        #endif
        let (lines, writer) = AsyncStream.makeStream(of: String.self)
        let shown = Task { await Observing.countdown(pusher) { writer.yield($0) } }
        try await pusher.connected()
        for await line in lines where line.hasPrefix("connected as ") { break }
        await server.shutdown()
        for await line in lines where line == "retrying in 1 s" { break }
        await pusher.disconnected()
        for await line in lines where line == "disconnected" { break }
        shown.cancel()
        await shown.value
        var report: [String] = []
        Observing.report(pusher) { report.append($0) }
        #expect(report.first?.hasPrefix("1 connections, lost [") == true)
        #expect(report.dropFirst().first == "recovered 0 times, in 0.0 seconds at the most")
    }
}
