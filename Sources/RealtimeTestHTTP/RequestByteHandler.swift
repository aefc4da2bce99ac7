package import NIOCore

/// A handler that gets bytes before the HTTP decoder, and tells the request handler when bytes arrive. The decoder
/// reports a head only when the head is complete.
///
/// The handler passes on the last byte of each read separately. The request handler can then see whether a request
/// ended with the read, or whether another request has begun.
package final class RequestByteHandler: ChannelInboundHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private let requestHandler: any RequestHandler

    package init(_ requestHandler: any RequestHandler) { self.requestHandler = requestHandler }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard requestHandler.isReading else { return context.fireChannelRead(data) }
        var bytes = unwrapInboundIn(data)
        for length in [bytes.readableBytes - 1, 1] where length > 0 {
            guard let part = bytes.readSlice(length: length) else { return }
            requestHandler.bytesWillArrive()
            context.fireChannelRead(wrapInboundOut(part))
        }
    }
}

/// A handler that reads requests, and limits the time of each request.
package protocol RequestHandler: AnyObject {
    /// Whether the handler still reads requests.
    var isReading: Bool { get }

    /// Handles bytes before the decoder gets them. The first byte after a request begins another request.
    func bytesWillArrive()
}
