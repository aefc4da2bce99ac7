import NIOCore
import NIOHTTP1

/// Passes an origin's answer to the handler of the client's request.
final class ProxyOriginHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let client: ProxyRequestHandler

    init(client: ProxyRequestHandler) { self.client = client }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { client.originSent(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) { client.originPaused() }

    func channelInactive(context: ChannelHandlerContext) { client.originEnded() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
