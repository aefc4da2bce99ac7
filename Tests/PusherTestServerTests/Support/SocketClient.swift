import NIOCore
import NIOPosix
import NIOSSL
import ProxyTestSupport
import TestSupport

@testable import PusherTestServer

/// A WebSocket client that shows all bytes, and can send invalid bytes.
final class SocketClient: Sendable {
    enum Event: Hashable, Sendable {
        /// The answer to the upgrade, with its header fields in lower case.
        case response(status: Int, headers: [String])
        case text(String)
        case frame(opcode: UInt8, [UInt8])
        case close(code: Int?, reason: String)
        case end
    }

    private let channel: any Channel
    private let events: AsyncStream<Event>

    private init(channel: any Channel, events: AsyncStream<Event>) {
        self.channel = channel
        self.events = events
    }

    static func connect(
        to server: PusherTestServer,
        path: String? = "/app/app-key?protocol=7",
        headers: [String] = [],
        trusting root: String? = nil,
        after: [UInt8] = [],
        through proxy: TestProxy? = nil,
        as host: String = "localhost"
    ) async throws -> SocketClient {
        let (events, continuation) = AsyncStream.makeStream(of: Event.self)
        let tls = try root.map { root in
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(Array(root.utf8)))
            return try NIOSSLContext(configuration: configuration)
        }
        let addHandlers: @Sendable (any Channel) throws -> Void = { channel in
            if let tls {
                let handler = try NIOSSLClientHandler(context: tls, serverHostname: "localhost")
                try channel.pipeline.syncOperations.addHandler(handler)
            }
            try channel.pipeline.syncOperations.addHandler(ReadingHandler(continuation))
        }
        let eventLoop = MultiThreadedEventLoopGroup.singleton.any()
        let target = "\(host):\(server.port)"
        let tunnel = eventLoop.makePromise(of: Void.self)
        let channel = try await ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(.patience))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard proxy != nil else {
                        tunnel.succeed()
                        return try addHandlers(channel)
                    }
                    let handler = TunnelRequestHandler(target: target, finished: tunnel)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: proxy?.host ?? server.host, port: proxy?.port ?? server.port)
            .flatMapError { error in
                tunnel.fail(error)
                return eventLoop.makeFailedFuture(error)
            }
            .flatMap { channel in tunnel.futureResult.map { channel } }
            .flatMapThrowing { channel in
                if proxy != nil { try addHandlers(channel) }
                return channel
            }
            .get()
        let client = SocketClient(channel: channel, events: events)
        guard let path else { return client }
        let lines =
            [
                "GET \(path) HTTP/1.1", "Host: localhost", "Connection: keep-alive, Upgrade", "Upgrade: WebSocket",
                "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ] + headers
        client.write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + after)
        return client
    }

    /// Waits for the next event and returns it. Always returns `.end` after the end.
    func next() async -> Event {
        for await event in events { return event }
        return .end
    }

    /// Reads the answer to the upgrade and the greeting, and returns the socket id.
    func socketID() async throws -> String {
        guard case .response(101, _) = await next() else { throw UnexpectedAnswer() }
        guard case .text(let text) = await next(), let start = text.firstRange(of: #"socket_id\":\""#),
            let end = text[start.upperBound...].firstIndex(of: "\\")
        else { throw UnexpectedAnswer() }
        return String(text[start.upperBound..<end])
    }

    struct UnexpectedAnswer: Error {}

    func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    func send(_ text: String) { write(Self.frame(0x81, Array(text.utf8))) }

    func close(code: Int) { write(Self.frame(0x88, [UInt8(code >> 8 & 0xFF), UInt8(code & 0xFF)])) }

    func drop() { channel.close(promise: nil) }

    /// Makes a frame. The first byte has FIN, the reserved bits and the opcode.
    static func frame(_ first: UInt8, _ payload: [UInt8], isMasked: Bool = true) -> [UInt8] {
        var frame: [UInt8] = [first]
        let mask: [UInt8] = isMasked ? [1, 2, 3, 4] : [0, 0, 0, 0]
        let bit: UInt8 = isMasked ? 0x80 : 0
        switch payload.count {
        case ...125: frame.append(bit | UInt8(payload.count))
        case ...0xFFFF: frame += [bit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            frame.append(bit | 127)
            withUnsafeBytes(of: UInt64(payload.count).bigEndian) { frame += $0 }
        }
        if isMasked { frame += mask }
        return frame + payload.enumerated().map { $0.element ^ mask[$0.offset % 4] }
    }
}

/// A handler that splits the input into the answer to the upgrade and frames.
private final class ReadingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let events: AsyncStream<SocketClient.Event>.Continuation
    private var bytes: [UInt8] = []
    private var hasHead = false

    init(_ events: AsyncStream<SocketClient.Event>.Continuation) { self.events = events }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes += unwrapInboundIn(data).readableBytesView
        if !hasHead { readHead() }
        while hasHead, readFrame() {}
    }

    func channelInactive(context: ChannelHandlerContext) {
        events.yield(.end)
        events.finish()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func readHead() {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return }
        let head = text[..<end.lowerBound]
        let lines = head.split(separator: "\r\n").map { $0.lowercased() }
        let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        bytes.removeFirst(head.utf8.count + 4)
        hasHead = true
        events.yield(.response(status: status, headers: Array(lines.dropFirst())))
    }

    private func readFrame() -> Bool {
        guard bytes.count >= 2 else { return false }
        let lengthBytes = bytes[1] == 127 ? 8 : bytes[1] == 126 ? 2 : 0
        guard bytes.count >= 2 + lengthBytes else { return false }
        let length = lengthBytes == 0 ? Int(bytes[1]) : bytes[2..<2 + lengthBytes].reduce(0) { $0 << 8 | Int($1) }
        guard bytes.count >= 2 + lengthBytes + length else { return false }
        let payload = Array(bytes[(2 + lengthBytes)..<(2 + lengthBytes + length)])
        yield(opcode: bytes[0] & 0x0F, payload)
        bytes.removeFirst(2 + lengthBytes + length)
        return true
    }

    private func yield(opcode: UInt8, _ payload: [UInt8]) {
        switch opcode {
        case 0x1:
            events.yield(.text(String(decoding: payload, as: UTF8.self)))
        case 0x8:
            let code = payload.count < 2 ? nil : Int(payload[0]) << 8 | Int(payload[1])
            events.yield(.close(code: code, reason: String(decoding: payload.dropFirst(2), as: UTF8.self)))
        default:
            events.yield(.frame(opcode: opcode, payload))
        }
    }
}
