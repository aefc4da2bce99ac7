import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOWebSocket

/// A WebSocket on a TCP socket, or the request for a WebSocket.
///
/// The link writes bytes instead of frames to the pipeline, so that faults can write anything between frames.
final class ListenerLink: ServerLink {
    private let channel: any Channel
    private let key: String
    private let engine: ServerEngine
    private let options: PusherTestServer.Options
    private let id = NIOLockedValueBox<ConnectionID?>(nil)

    init(channel: any Channel, key: String, engine: ServerEngine, options: PusherTestServer.Options) {
        self.channel = channel
        self.key = key
        self.engine = engine
        self.options = options
    }

    func assign(_ id: ConnectionID) {
        self.id.withLockedValue { $0 = id }
        channel.closeFuture.whenComplete { _ in self.engine.connectionEnded(id) }
    }

    func received(_ message: ClientMessage) {
        if let id = id.withLockedValue({ $0 }) { engine.received(message, on: id) }
    }

    // MARK: ServerLink

    func accept(subprotocol: String?) {
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(Signature.webSocketAccept(key: key))\r\n"
        if let subprotocol { head += "Sec-WebSocket-Protocol: \(subprotocol)\r\n" }
        channel.write(ByteBuffer(string: head + "\r\n"), promise: nil)
        do {
            try switchToWebSocket(channel.pipeline.syncOperations)
        } catch {
            // The pipeline has no handlers anymore, because the socket is already closed.
            channel.endTransport()
        }
        channel.flush()
    }

    private func switchToWebSocket(_ pipeline: ChannelPipeline.SynchronousOperations) throws {
        let http = try pipeline.handler(type: HTTPRequestHandler.self)
        let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
        // A limit above `UInt32.max` would make the decoder trap.
        let frameLimit = min(max(0, options.maximumMessageSize), Int(UInt32.max))
        try pipeline.addHandlers(
            ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: frameLimit)),
            WebSocketHandler(link: self, maximumMessageSize: options.maximumMessageSize),
            position: .after(http)
        )
        // Remove the HTTP handler first, so that the decoder's remaining bytes do not reach it.
        pipeline.removeHandler(http, promise: nil)
        pipeline.removeHandler(context: decoder, promise: nil)
    }

    func refuse(status: Int, body: String) {
        channel.respond(RESTResponse(status: status, body: body), isLast: true)
    }

    func send(_ frame: OutgoingFrame) {
        // A writable channel has few unsent bytes. The check comes before the write, so that one large message does not
        // end the connection of a client that reads.
        if !channel.isWritable, let size = try? channel.syncOptions?.getOption(.bufferedWritableBytes),
            size > options.maximumQueueSize
        {
            return channel.endTransport()
        }
        channel.write(frame.bytes(channel.allocator), promise: nil)
    }

    func flush() { channel.flush() }

    func end() { channel.endTransportAfterFlush() }
}

extension OutgoingFrame {
    /// Returns the bytes of the frame (RFC 6455, 5.2), without a mask.
    fileprivate func bytes(_ allocator: ByteBufferAllocator) -> ByteBuffer {
        switch self {
        case .text(let text): Self.frame(opcode: 0x1, text.utf8, allocator)
        case .binary(let bytes): Self.frame(opcode: 0x2, bytes, allocator)
        case .ping(let payload): Self.frame(opcode: 0x9, payload, allocator)
        case .pong(let payload): Self.frame(opcode: 0xA, payload, allocator)
        case .rawBytes(let bytes): allocator.buffer(bytes: bytes)
        case .close(let code, let reason):
            Self.frame(opcode: 0x8, Self.closePayload(code, reason), allocator)
        }
    }

    /// Returns a payload of at most 125 bytes, as a close frame requires. Shortens a long reason, but never cuts a
    /// character.
    private static func closePayload(_ code: Int?, _ reason: String) -> [UInt8] {
        guard let code else { return [] }
        let bits = UInt16(truncatingIfNeeded: code)
        var payload = [UInt8(bits >> 8), UInt8(bits & 0xFF)]
        for character in reason {
            guard payload.count + character.utf8.count <= 125 else { break }
            payload += Array(character.utf8)
        }
        return payload
    }

    private static func frame(
        opcode: UInt8,
        _ payload: some Collection<UInt8>,
        _ allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: payload.count + 10)
        buffer.writeInteger(0x80 | opcode)
        switch payload.count {
        case ...125:
            buffer.writeInteger(UInt8(truncatingIfNeeded: payload.count))
        case ...0xFFFF:
            buffer.writeInteger(UInt8(126))
            buffer.writeInteger(UInt16(truncatingIfNeeded: payload.count))
        default:
            buffer.writeInteger(UInt8(127))
            buffer.writeInteger(UInt64(payload.count))
        }
        buffer.writeBytes(payload)
        return buffer
    }
}
