import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Workload

/// A WebSocket over SwiftNIO's stock pipeline with as little work as possible, for comparison with the client.
enum ReferenceConnection {
    /// Connects, and adds the handler to the channel after the upgrade.
    static func open(
        _ target: Target,
        _ workload: Workload,
        _ makeHandler: @escaping @Sendable () -> some ChannelHandler
    ) async throws -> any Channel {
        try await connect(target, workload, on: MultiThreadedEventLoopGroup.singleton.next(), makeHandler).get()
    }

    /// Connects, and adds the handler to the channel after the upgrade.
    static func connect(
        _ target: Target,
        _ workload: Workload,
        on eventLoop: any EventLoop,
        _ makeHandler: @escaping @Sendable () -> some ChannelHandler
    ) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if target.useTLS {
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls.get(), serverHostname: nil))
                    }
                    let request = UpgradeRequestHandler(path: workload.path + "/app/app-key", target: target)
                    try pipeline.addHTTPClientHandlers(
                        leftOverBytesStrategy: .forwardBytes,
                        withClientUpgrade: upgrade(removing: request, makeHandler)
                    )
                    try pipeline.addHandler(request)
                }
            }
            .connect(host: target.host, port: target.port)
    }

    private static func upgrade(
        removing request: UpgradeRequestHandler,
        _ makeHandler: @escaping @Sendable () -> some ChannelHandler
    ) -> NIOHTTPClientUpgradeSendableConfiguration {
        let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: 1 << 24) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandler(makeHandler())
            }
        }
        let name = UpgradeRequestHandler.name
        return (
            upgraders: [upgrader],
            completionHandler: { $0.pipeline.syncOperations.removeHandler(name: name, promise: nil) }
        )
    }

    /// The TLS context of all connections.
    private static let tls = Result {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        return try NIOSSLContext(configuration: configuration)
    }
}

/// Sends the request for the upgrade.
final class UpgradeRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    static let name = "upgrade request"
    private let path: String
    private let target: Target

    init(path: String, target: Target) {
        self.path = path
        self.target = target
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = ["Host": "\(target.host):\(target.port)", "Content-Length": "0"]
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: path, headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }
}
