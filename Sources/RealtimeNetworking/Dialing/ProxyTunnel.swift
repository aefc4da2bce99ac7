import NIOCore
import NIOHTTP1

/// Sends the request for a tunnel, and reports the result. The package does not use the handler of NIOExtras, which
/// retains a timer and the credentials after each refusal by a proxy.
final class ProxyTunnel: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    enum Answer {
        /// The status of the proxy's answer.
        case status(Int)
        /// The answer is complete, and the handlers for HTTP have been removed.
        case opened(Result<Void, any Error>)
    }

    private let request: HTTPRequestHead
    private let encoder = HTTPRequestEncoder()
    private let decoder = ByteToMessageHandler(HTTPResponseDecoder(leftOverBytesStrategy: .dropBytes))
    private let answered: (Answer) -> Void

    init(to target: String, through proxy: ProxyServer, answered: @escaping (Answer) -> Void) {
        var headers = HTTPHeaders([("Host", target)])
        if let authorization = proxy.authorization { headers.add(name: "Proxy-Authorization", value: authorization) }
        request = HTTPRequestHead(version: .http1_1, method: .CONNECT, uri: target, headers: headers)
        self.answered = answered
    }

    /// Adds the handlers for HTTP, and sends the request.
    func add(to channel: any Channel, before handler: any ChannelHandler) throws {
        // This handler comes last, because it sends its request as soon as it is added.
        try channel.pipeline.syncOperations.addHandlers([encoder, decoder, self], position: .before(handler))
    }

    func handlerAdded(context: ChannelHandlerContext) {
        context.write(wrapOutboundOut(.head(request)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head): answered(.status(Int(head.status.code)))
        case .body: break
        case .end: remove(from: context)
        }
    }

    private func remove(from context: ChannelHandlerContext) {
        let operations = context.pipeline.syncOperations
        EventLoopFuture.andAllSucceed(
            [
                operations.removeHandler(encoder), operations.removeHandler(decoder), operations.removeHandler(self),
            ],
            on: context.eventLoop
        ).assumeIsolated().whenComplete { self.answered(.opened($0)) }
    }
}
