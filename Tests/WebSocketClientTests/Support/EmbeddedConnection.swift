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
    private let blockable = Blockable()

    /// A handler that passes bytes only while the peer reads.
    private final class Blockable: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isBlocked = false

        func flush(context: ChannelHandlerContext) {
            if !isBlocked { context.flush() }
        }
    }

    init(_ options: WebSocketOptions) throws {
        let ends = Log<WebSocketClosure>()
        self.ends = ends
        channel = EmbeddedChannel(handler: blockable, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
        connection = WebSocketConnector(options).connect(
            to: WebSocketRequest(host: "127.0.0.1", port: 80, useTLS: false, path: "/app/key"),
            over: channel
        ) { event in
            if case .closed(let closure) = event { ends.append(closure) }
        }
        loop.run()
        let request = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
        try channel.writeInbound(ByteBuffer(string: acceptance(of: request ?? "")))
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
        return try takeFrames()
    }

    /// Reads the waiting bytes, and stops reading.
    func read() throws {
        try startReading()
        stopReading()
    }

    /// Returns the frames that were sent since the last call.
    func takeFrames() throws -> [ScriptedPeer.Frame] {
        var bytes = ByteBuffer()
        while let part = try channel.readOutbound(as: ByteBuffer.self) { bytes.writeImmutableBuffer(part) }
        var frames: [ScriptedPeer.Frame] = []
        while let frame = ScriptedPeer.Frame(readingFrom: &bytes) { frames.append(frame) }
        return frames
    }
}
