import ClientTestSupport
import RealtimeNetworking
import SocketTestSupport
import TestTraits
import Testing

@testable import PusherClient

@Suite("A server that refuses the upgrade", .limited)
struct RefusedUpgradeTests {
    @Test(
        "the server's Retry-After is the shortest wait before the next attempt, up to a minute",
        arguments: [("50", 50), ("86400", 60), ("soon", 0)]
    )
    func retryAfter(field: String, seconds: Int) async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            let refusal = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: \(field)\r\nContent-Length: 0\r\n\r\n"
            try await peer.write(refusal)
            await peer.readToClose()
        } _: { port in
            let minimum = AsyncStream<Duration>.makeStream()
            let options = PusherClientOptions(
                host: .host("127.0.0.1"),
                port: port,
                useTLS: false,
                timeouts: .patient,
                retryPolicy: Asking { minimum.continuation.yield($0.minimumDelay) },
                transports: [.webSocket],
                logger: .quiet
            )
            let pusher = Pusher(key: "key", options: options)
            pusher.connect()
            #expect(await minimum.stream.first { _ in true } == .seconds(seconds))
            await pusher.disconnected()
        }
    }
}

/// A policy that tells what the client asks.
private struct Asking: RetryPolicy {
    let asked: @Sendable (RetryContext) -> Void

    func delay(for context: RetryContext) -> Duration? {
        asked(context)
        return .seconds(3_600)
    }
}
