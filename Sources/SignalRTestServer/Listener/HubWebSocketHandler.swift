import NIOCore
import NIOWebSocket

/// A link over a WebSocket.
final class HubWebSocketHandler: ChannelInboundHandler, ServerLink {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let server: SignalRTestServer
    private let request: ReceivedRequest
    private var context: ChannelHandlerContext?
    private var token: String?
    /// The limit for waiting bytes.
    private var limit = Int.max

    init(_ server: SignalRTestServer, _ request: ReceivedRequest) {
        self.server = server
        self.request = request
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        // Later messages also go through `enter`, so they cannot overtake the upgrade.
        server.enter { handler.value.start($0) }
    }

    private func start(_ brain: HubBrain) {
        limit = brain.options.maximumQueueSize
        // The connection can end between the answer to the request and the upgrade.
        guard let connection = brain.upgraded(request, self) else { return drop() }
        token = connection.token
        // If the channel closed before the pipeline had this handler, `channelInactive` never runs.
        guard context?.channel.isActive != true else { return }
        context = nil
        brain.detach(self, from: connection)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        server.enter { brain in
            if let connection = handler.value.connection(brain) { brain.detach(handler.value, from: connection) }
        }
        self.context = nil
    }

    private func connection(_ brain: HubBrain) -> ServerConnection? { token.flatMap { brain.connections[$0] } }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let payload = frame.unmaskedData
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        switch frame.opcode {
        case .text, .binary:
            let bytes = Array(payload.readableBytesView)
            server.enter { brain in
                if let connection = handler.value.connection(brain) { brain.received(bytes, from: connection) }
            }
        case .ping:
            server.enter { brain in if !brain.isSilent { handler.value.send(.pong, payload) } }
        case .connectionClose:
            let code = payload.getSlice(at: payload.readerIndex, length: 2)
            server.enter { brain in
                if brain.isSilent { return }
                handler.value.send(.connectionClose, code ?? ByteBuffer())
                handler.value.context?.close(promise: nil)
            }
        default: break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func send(_ opcode: WebSocketOpcode, _ payload: ByteBuffer) {
        if context?.channel.hasUnsentBytes(beyond: limit) == true { return drop() }
        let frame = WebSocketFrame(fin: true, opcode: opcode, data: payload)
        context?.writeAndFlush(wrapOutboundOut(frame), promise: nil)
    }

    // MARK: ServerLink

    func write(_ bytes: [UInt8], isBinary: Bool) { send(isBinary ? .binary : .text, ByteBuffer(bytes: bytes)) }

    func close() {
        var payload = ByteBuffer()
        payload.writeInteger(UInt16(1000))
        send(.connectionClose, payload)
    }

    func drop() { context?.close(promise: nil) }
}
