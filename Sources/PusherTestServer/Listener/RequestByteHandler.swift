import NIOCore

/// A handler that gets bytes before the HTTP decoder, and tells the request handler when bytes arrive. The decoder
/// reports a head only when the head is complete.
///
/// The handler passes on the last byte of each read separately. The request handler can then see whether a request
/// ended with the read, or whether another request has begun.
final class RequestByteHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let requestHandler: HTTPRequestHandler

    init(_ requestHandler: HTTPRequestHandler) { self.requestHandler = requestHandler }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard requestHandler.isReading else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        for length in [bytes.readableBytes - 1, 1] where length > 0 {
            guard let part = bytes.readSlice(length: length) else { return }
            requestHandler.bytesWillArrive()
            context.fireChannelRead(wrapInboundOut(part))
        }
    }
}
