import NIOCore
import NIOHTTP1
import NIOWebSocket

/// Collects the requests of one TCP connection, and writes the answers.
final class HubHTTPHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: SignalRTestServer
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(_ server: SignalRTestServer) { self.server = server }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
        case .body(let bytes): body += Array(bytes.readableBytesView)
        case .end:
            guard let head else { return }
            let request = ReceivedRequest(head, body)
            let exchange = HTTPExchange(context.channel)
            self.head = nil
            body = []
            server.enter { $0.answer(request, exchange) }
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The handler ignores the error of a refused upgrade. NIO also passes the upgrade on as a request, which the
        // server answers.
        if error is NIOWebSocketUpgradeError { return }
        context.close(promise: nil)
    }
}

/// A request that waits for its answer. Call the methods on the event loop.
final class HTTPExchange: Sendable {
    private let channel: any Channel

    init(_ channel: any Channel) { self.channel = channel }

    var closed: EventLoopFuture<Void> { channel.closeFuture }

    func respond(_ response: HubResponse) {
        var headers = HTTPHeaders(response.headers)
        headers.replaceOrAdd(name: "Content-Length", value: "\(response.body.count)")
        let status = HTTPResponseStatus(statusCode: response.status)
        if status.mayHaveResponseBody {
            write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
            write(.body(.byteBuffer(ByteBuffer(bytes: response.body))))
        } else {
            headers.remove(name: "Content-Length")
            write(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers)))
        }
        write(.end(nil))
        channel.flush()
    }

    /// Begins an answer that continues until the connection is closed.
    func begin(_ contentType: String) {
        let headers = HTTPHeaders([("Content-Type", contentType), ("Cache-Control", "no-cache")])
        write(.head(HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)))
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
