import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Collects the requests of one TCP connection, and writes the answers. Any request of the connection can be an upgrade
/// to a WebSocket.
final class HubHTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: SignalRTestServer
    /// The other handlers for HTTP, which an upgrade removes.
    private let others: [any RemovableChannelHandler]
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ server: SignalRTestServer, after others: [any RemovableChannelHandler]) {
        self.server = server
        self.others = others
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes): body += Array(bytes.readableBytesView)
        case .end:
            guard let head else { return }
            let request = ReceivedRequest(head, body)
            // After a request for another protocol, NIO reads no further request, even if the server refuses the upgrade.
            let exchange = HTTPExchange(context.channel, isLast: head.headers.contains(name: "Upgrade"))
            self.head = nil
            body = []
            let (channel, handler) = (context.channel, NIOLoopBound(self, eventLoop: context.eventLoop))
            server.enter { brain in
                if request.step == .webSocket, brain.acceptsUpgrade(request) {
                    handler.value.upgrade(channel, head, request, exchange)
                } else {
                    brain.answer(request, exchange)
                }
            } closed: {
                exchange.drop()
            }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // MARK: Upgrades

    private func upgrade(
        _ channel: any Channel,
        _ head: HTTPRequestHead,
        _ request: ReceivedRequest,
        _ exchange: HTTPExchange
    ) {
        // NIO's upgrader checks the request and makes the header fields. NIO's pipeline of an upgrader accepts an
        // upgrade only as the first request of a TCP connection.
        let upgrader = NIOWebSocketServerUpgrader(
            shouldUpgrade: { channel, _ in channel.eventLoop.makeSucceededFuture(HTTPHeaders()) },
            upgradePipelineHandler: { channel, _ in channel.eventLoop.makeSucceededVoidFuture() }
        )
        upgrader.buildUpgradeResponse(
            channel: channel,
            upgradeRequest: head,
            initialResponseHeaders: ["Upgrade": "websocket", "Connection": "Upgrade"]
        ).assumeIsolated().whenComplete { result in
            switch result {
            case .success(let fields):
                exchange.begin(HTTPResponseHead(version: .http1_1, status: .switchingProtocols, headers: fields))
                exchange.end()
                do {
                    try self.switchToWebSocket(channel.pipeline.syncOperations, request)
                } catch {
                    // The pipeline has no handlers anymore, because the socket is already closed.
                    exchange.drop()
                }
            case .failure: exchange.respond(.text(400, "The request is not a valid upgrade to a WebSocket."))
            }
        }
    }

    private func switchToWebSocket(
        _ pipeline: ChannelPipeline.SynchronousOperations,
        _ request: ReceivedRequest
    ) throws {
        let size = 64 << 20
        try pipeline.addHandlers(
            [
                WebSocketFrameEncoder(), ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: size)),
                WebSocketProtocolErrorHandler(),
                NIOWebSocketFrameAggregator(
                    minNonFinalFragmentSize: 0,
                    maxAccumulatedFrameCount: 100_000,
                    maxAccumulatedFrameSize: size
                ),
                HubWebSocketHandler(server, request),
            ],
            position: .after(self)
        )
        // The decoder comes last but one, so its remaining bytes reach no handler for HTTP.
        pipeline.removeHandler(self, promise: nil)
        for handler in others.reversed() { pipeline.removeHandler(handler, promise: nil) }
    }
}

/// A request that waits for its answer. Call the methods on the event loop.
final class HTTPExchange: Sendable {
    private let channel: any Channel
    private let isLast: Bool

    /// - Parameter isLast: Whether the connection closes after a whole answer.
    init(_ channel: any Channel, isLast: Bool = false) {
        self.channel = channel
        self.isLast = isLast
    }

    var closed: EventLoopFuture<Void> { channel.closeFuture }

    func respond(_ response: HubResponse) {
        var headers = HTTPHeaders(response.headers)
        headers.replaceOrAdd(name: "Content-Length", value: "\(response.body.count)")
        if isLast { headers.replaceOrAdd(name: "Connection", value: "close") }
        let status = HTTPResponseStatus(statusCode: response.status)
        if status.mayHaveResponseBody {
            write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
            write(.body(.byteBuffer(ByteBuffer(bytes: response.body))))
        } else {
            headers.remove(name: "Content-Length")
            write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
        }
        let (channel, isLast) = (channel, isLast)
        channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
            if isLast { channel.close(promise: nil) }
        }
    }

    /// Begins an answer that continues until the connection is closed.
    func begin(_ contentType: String) {
        let headers = HTTPHeaders([("Content-Type", contentType), ("Cache-Control", "no-cache")])
        begin(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers))
    }

    func begin(_ head: HTTPResponseHead) {
        write(.head(head))
        channel.flush()
    }

    func write(_ bytes: [UInt8]) {
        write(.body(.byteBuffer(ByteBuffer(bytes: bytes))))
        channel.flush()
    }

    func end() {
        write(.end(nil))
        channel.flush()
    }

    func drop() { channel.close(promise: nil) }

    func hasUnsentBytes(beyond limit: Int) -> Bool { channel.hasUnsentBytes(beyond: limit) }

    private func write(_ part: HTTPServerResponsePart) { channel.write(part, promise: nil) }
}

extension Channel {
    /// Returns whether more bytes than the limit wait for the client. Call this on the event loop.
    func hasUnsentBytes(beyond limit: Int) -> Bool {
        // A writable channel has few unsent bytes.
        guard !isWritable, let size = try? syncOptions?.getOption(.bufferedWritableBytes) else { return false }
        return size > limit
    }
}
