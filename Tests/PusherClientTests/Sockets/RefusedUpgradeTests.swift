import ClientTestSupport
import NIOCore
import NIOEmbedded
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing
import WebSocketClient

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

    @Test("the Retry-After counts if the attempt times out before the refusal is complete")
    func unfinished() async throws {
        let world = VirtualWorld(transport: .webSocket)
        let channels = Log<NIOAsyncTestingChannel>()
        let asked = Log<Duration>()
        let pusher = world.makeClient(
            .virtual(retryPolicy: Asking { asked.append($0.minimumDelay) }),
            transport: ChannelTransport(loop: world.loop, channels: channels)
        )
        pusher.connect()
        await world.advance(by: .seconds(14))
        let channel = try #require(channels.elements.first)
        let head = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\nContent-Length: 10\r\n\r\nbusy"
        try await channel.writeInbound(ByteBuffer(string: head))
        #expect(asked.elements == [])
        await world.advance(by: .seconds(1))
        #expect(asked.elements == [.seconds(7)])
        pusher.disconnect()
    }
}

/// A transport whose connections have no socket.
private struct ChannelTransport: Transport {
    let loop: NIOAsyncTestingEventLoop
    let channels: Log<NIOAsyncTestingChannel>

    func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        let channel = NIOAsyncTestingChannel(loop: loop)
        (try? SocketAddress(ipAddress: "127.0.0.1", port: 80)).map { channel.connect(to: $0, promise: nil) }
        channels.append(channel)
        return WebSocketTransport(WebSocketConnector(WebSocketOptions()))
            .open(request, over: channel, receive: receive)
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
