import NIOCore

/// Precedes the HTTP decoder, which reports a head only when it is complete. It tells the request handler that bytes
/// are about to arrive.
///
/// It passes on the last byte of each read separately. This shows whether a request ended with the read, or another one
/// has begun after it.
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
