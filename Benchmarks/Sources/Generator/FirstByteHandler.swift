import NIOCore
import NIOHTTP1
import NIOWebSocket
import Workload

/// Distinguishes WebSocket upgrades, requests of HTTP transports, authorization requests and requests for event streams
/// by their first bytes. To be fast, the handler answers all requests except WebSocket upgrades without NIO's HTTP
/// handlers.
final class FirstByteHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let sessions: TransportSessions

    init(_ sessions: TransportSessions) { self.sessions = sessions }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        let pipeline = context.pipeline.syncOperations
        do {
            if bytes.readableBytesView.starts(with: "POST /kind/".utf8) {
                try pipeline.addHandler(TransportHandler(sessions))
            } else if bytes.readableBytesView.first == UInt8(ascii: "P") {
                try pipeline.addHandler(AuthorizationHandler())
            } else if bytes.readableBytesView.starts(with: "GET \(StreamLoad.prefix)".utf8) {
                try pipeline.addHandler(StreamHandler())
            } else {
                try pipeline.configureHTTPServerPipeline(withServerUpgrade: Self.upgrade)
            }
        } catch {
            return context.close(promise: nil)
        }
        context.fireChannelRead(wrapInboundOut(bytes))
        pipeline.removeHandler(self, promise: nil)
    }

    private static var upgrade: NIOHTTPServerUpgradeConfiguration {
        let upgrader = NIOWebSocketServerUpgrader(
            maxFrameSize: 1 << 20,
            shouldUpgrade: { channel, head in
                let isKnown = Workload(path: head.uri) != nil || HubLoad(path: head.uri) != nil
                return channel.eventLoop.makeSucceededFuture(isKnown ? HTTPHeaders() : nil)
            },
            upgradePipelineHandler: { channel, head in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    // The handler replaces NIO's frame decoder.
                    let encoder = try pipeline.handler(type: WebSocketFrameEncoder.self)
                    if let load = HubLoad(path: head.uri) {
                        try pipeline.addHandler(HubHandler(load), position: .before(encoder))
                    } else if let workload = Workload(path: head.uri) {
                        try pipeline.addHandler(WorkloadHandler(workload), position: .before(encoder))
                    }
                }
            }
        )
        return (upgraders: [upgrader], completionHandler: { _ in })
    }
}

/// Answers each request with the same authorization, and keeps the connection.
final class AuthorizationHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let answer: ByteBuffer = {
        let body = #"{"auth":"app-key:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}"#
        return ByteBuffer(
            string: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
                + body
        )
    }()

    private var received = ByteBuffer()

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.writeImmutableBuffer(unwrapInboundIn(data))
        while takeRequest() { context.write(wrapOutboundOut(Self.answer), promise: nil) }
        context.flush()
        if received.readableBytes == 0 { received.clear() }
    }

    /// Removes a request from the received bytes. Returns false if no request is complete.
    private func takeRequest() -> Bool {
        let size = received.withUnsafeReadableBytes { Self.requestSize($0) }
        guard let size, received.readableBytes >= size.head + size.body else { return false }
        received.moveReaderIndex(forwardBy: size.head + size.body)
        return true
    }

    /// Returns nil if the head is not complete.
    static func requestSize(_ bytes: UnsafeRawBufferPointer) -> (head: Int, body: Int)? {
        var length = 0
        var lineStart = 0
        for offset in bytes.indices where bytes[offset] == UInt8(ascii: "\n") {
            let line = bytes[lineStart...offset]
            lineStart = offset + 1
            if line.count == 2 { return (lineStart, length) }
            guard line.count > 15, line[line.startIndex] | 0x20 == UInt8(ascii: "c"),
                line.prefix(15).elementsEqual("content-length:".utf8, by: { $0 | 0x20 == $1 | 0x20 })
            else { continue }
            length = line.reduce(0) { (48...57).contains($1) ? $0 * 10 + Int($1) - 48 : $0 }
        }
        return nil
    }
}
