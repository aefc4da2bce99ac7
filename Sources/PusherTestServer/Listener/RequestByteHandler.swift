import NIOCore

/// Stands before the HTTP decoder, which says nothing of a head until it is whole, and tells the request handler that
/// bytes are about to come.
///
/// The last byte of each read comes alone. So it is known whether a request ended with the read, or another one has begun
/// after it.
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
