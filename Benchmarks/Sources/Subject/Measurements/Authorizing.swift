import NIOCore
import NIOHTTP1
import NIOPosix
import PusherClient
import Workload

/// Many private channels through an endpoint that answers at once; the reference makes only the requests.
struct Authorizing {
    let arguments: Arguments

    func run() async throws -> [String: Double] {
        let count = arguments.number("channels", default: 1_000)
        return arguments.implementation == "client" ? try await client(count) : await requests(count)
    }

    private func client(_ count: Int) async throws -> [String: Double] {
        var workload = Workload()
        workload.kind = .private
        workload.channels = count
        let target = arguments.target
        let method = AuthMethod.endpoint("http://\(target.host):\(target.port)/auth")
        let pusher = ClientUnderTest.make(target, workload, authMethod: method)
        let countdown = Countdown(count)
        let observation = pusher.observe(named: "pusher:subscription_succeeded") { _ in countdown.hit() }
        try await pusher.connected()
        let start = ProcessUsage.now
        for index in 0..<count { pusher.subscribe(workload.channelName(index)) }
        let usage = await countdown.finished()[0] - start
        observation.cancel()
        await pusher.disconnected()
        return usage.values(per: 1)
    }

    private func requests(_ count: Int) async -> [String: Double] {
        // The client makes the same number of requests at once by default.
        let connections = PusherClientOptions.Limits().authorizationsAtOnce
        let target = arguments.target
        let countdown = Countdown(count)
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let start = ProcessUsage.now
        for index in 0..<connections {
            let share = count / connections + (index < count % connections ? 1 : 0)
            _ = ClientBootstrap(group: eventLoop)
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        let handler = AuthorizationRequests(target, share) { countdown.hit() }
                        try channel.pipeline.syncOperations.addHandler(handler)
                    }
                }
                .connect(host: target.host, port: target.port)
        }
        let usage = await countdown.finished()[0] - start
        return usage.values(per: 1)
    }
}

/// Sends one request after the other on one connection.
private final class AuthorizationRequests: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let target: Target
    private let didAnswer: () -> Void
    private var remaining: Int

    init(_ target: Target, _ count: Int, didAnswer: @escaping () -> Void) {
        self.target = target
        self.didAnswer = didAnswer
        remaining = count
    }

    func channelActive(context: ChannelHandlerContext) { sendNext(context) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        didAnswer()
        sendNext(context)
    }

    private func sendNext(_ context: ChannelHandlerContext) {
        guard remaining > 0 else { return context.close(promise: nil) }
        remaining -= 1
        let body = "socket_id=1234.5678&channel_name=private-channel-\(String(digits: remaining, count: 5))"
        let headers: HTTPHeaders = [
            "Host": "\(target.host):\(target.port)", "Content-Type": "application/x-www-form-urlencoded",
            "Content-Length": "\(body.utf8.count)",
        ]
        let head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/auth", headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
