import NIOCore
import NIOHTTP1
import PusherTestServer
import RealtimeTestHTTP

/// A handler that closes the connection if a request is not complete in time. The time begins with the first byte of
/// the request. There is no limit between two requests, and none for answers.
final class RequestTimeLimit: ChannelInboundHandler, RequestHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart

    private let limit: TimeAmount
    private var context: ChannelHandlerContext?
    /// The timer that runs while a request is incomplete.
    private var timer: Scheduled<Void>?

    private init(_ limit: TimeAmount) { self.limit = limit }

    /// Adds the handlers to a pipeline with an HTTP decoder.
    static func add(to pipeline: ChannelPipeline.SynchronousOperations, limit: TimeAmount = .seconds(30)) throws {
        let handler = RequestTimeLimit(limit)
        try pipeline.addHandler(handler)
        try pipeline.addHandler(RequestByteHandler(handler), position: .first)
    }

    // MARK: RequestHandler

    var isReading: Bool { context != nil }

    func bytesWillArrive() {
        guard timer == nil, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: limit) {
            self.timer = nil
            context.close(promise: nil)
        }
    }

    // MARK: ChannelInboundHandler

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = unwrapInboundIn(data) { stopTimer() }
        context.fireChannelRead(data)
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }
}
