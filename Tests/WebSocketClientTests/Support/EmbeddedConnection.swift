import NIOCore
import NIOEmbedded
import SocketTestSupport
import TestSupport
import WebSocketClient

/// An open connection over a channel without a socket, in virtual time.
struct EmbeddedConnection {
    let loop = EmbeddedEventLoop()
    let channel: EmbeddedChannel
    let connection: WebSocketConnection
    let ends: Log<WebSocketClosure>
    let messages: Log<WebSocketMessage>
    private let blockable = Blockable()

    /// A handler that passes bytes only while the peer reads.
    private final class Blockable: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isBlocked = false
        /// The number of flushes that pass although the peer does not read.
        var passes = 0

        func flush(context: ChannelHandlerContext) {
            guard isBlocked else { return context.flush() }
            guard passes > 0 else { return }
            passes -= 1
            context.flush()
        }
    }

    /// - Parameter extensions: The server's answer to the offer of an extension. Default: none.
    init(_ options: WebSocketOptions, extensions: String? = nil) throws {
        let (ends, messages) = (Log<WebSocketClosure>(), Log<WebSocketMessage>())
        (self.ends, self.messages) = (ends, messages)
        channel = EmbeddedChannel(handler: blockable, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        connection = WebSocketConnector(options).connect(
            to: WebSocketRequest(host: "127.0.0.1", port: 80, useTLS: false, path: "/app/key"),
            over: channel
        ) { event in
            switch event {
            case .text(let bytes): messages.append(.text(bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }))
            case .binary(let bytes): messages.append(.binary(Array(bytes.readableBytesView)))
            case .closed(let closure): ends.append(closure)
            default: break
            }
        }
        loop.run()
        let request = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
        let extra = extensions.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? ""
        try channel.writeInbound(ByteBuffer(string: acceptance(of: request ?? "", extra: extra)))
    }

    /// Closes the channel. Without this call, the channel would retain itself.
    func finish() throws { _ = try channel.finish(acceptAlreadyClosed: true) }

    /// Sends messages with these sizes in one turn of the loop.
    func send(_ sizes: Int...) {
        for size in sizes { connection.send(String(repeating: "x", count: size), promise: nil) }
        connection.flush()
    }

    func receive(_ frame: [UInt8]) throws { try channel.writeInbound(ByteBuffer(bytes: frame)) }

    // MARK: The peer

    func stopReading() {
        blockable.isBlocked = true
        channel.isWritable = false
    }

    /// Reads the waiting bytes, and continues reading.
    @discardableResult
    func startReading() throws -> [ScriptedPeer.Frame] {
        blockable.isBlocked = false
        channel.isWritable = true
        channel.flush()
        channel.pipeline.fireChannelWritabilityChanged()
        loop.run()
        return try takeFrames()
    }

    /// Reads the bytes that wait now, but not those that the client then sends.
    func readOnce() throws -> [ScriptedPeer.Frame] {
        blockable.passes = 1
        channel.flush()
        return try takeFrames()
    }

    /// Returns the number of bytes that the client has written and the peer has not read.
    func bufferedBytes() throws -> Int { try channel.syncOptions?.getOption(.bufferedWritableBytes) ?? 0 }

    /// Reads the waiting bytes, and stops reading.
    func read() throws {
        try startReading()
        stopReading()
    }

    /// Returns the bytes that were sent since the last call. The connection writes at the end of the loop's turn.
    func takeBytes() throws -> ByteBuffer {
        loop.run()
        var bytes = ByteBuffer()
        while let part = try channel.readOutbound(as: ByteBuffer.self) { bytes.writeImmutableBuffer(part) }
        return bytes
    }

    /// Returns the frames that were sent since the last call.
    func takeFrames() throws -> [ScriptedPeer.Frame] {
        var bytes = try takeBytes()
        var frames: [ScriptedPeer.Frame] = []
        while let frame = ScriptedPeer.Frame(readingFrom: &bytes) { frames.append(frame) }
        return frames
    }
}
