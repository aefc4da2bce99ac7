import NIOCore
import NIOEmbedded
import Testing

@testable import PusherClient

@Suite("What waits for a server that does not read")
struct SendBufferTests {
    /// A connection whose socket takes bytes only where the test says so.
    private final class Blockable: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        var isBlocked = false

        func flush(context: ChannelHandlerContext) {
            if !isBlocked { context.flush() }
        }
    }

    private struct Connection {
        let loop = EmbeddedEventLoop()
        let channel: EmbeddedChannel
        let connection: WebSocketConnection
        let ends: Log<PusherClientError.Code?>
        private let blockable = Blockable()

        init(limit: Int) throws {
            let ends = Log<PusherClientError.Code?>()
            self.ends = ends
            channel = EmbeddedChannel(handler: blockable, loop: loop)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 80)).wait()
            connection = WebSocketTransport(.init(maximumUnwrittenBytes: limit)).connect(
                to: TransportRequest(host: "127.0.0.1", port: 80, useTLS: false, path: "/app/key"),
                over: channel
            ) { event in
                if case .closed(let closure) = event { ends.append(closure.error?.code) }
            }
            loop.run()
            let request = try channel.readOutbound(as: ByteBuffer.self).map { String(buffer: $0) }
            try channel.writeInbound(ByteBuffer(string: acceptance(of: request ?? "")))
        }

        /// Sends messages of that size as one piece of work does.
        func send(_ sizes: Int...) {
            for size in sizes { connection.send(String(repeating: "x", count: size), promise: nil) }
            connection.flush()
        }

        func stopReading() {
            blockable.isBlocked = true
            channel.isWritable = false
        }

        func read() throws {
            blockable.isBlocked = false
            channel.isWritable = true
            channel.flush()
            while try channel.readOutbound(as: ByteBuffer.self) != nil {}
            stopReading()
        }
    }

    @Test("what goes out at once breaks nothing, however much it is, nor what follows while the server reads it")
    func burst() throws {
        let connection = try Connection(limit: 10_000)
        connection.stopReading()
        for _ in 1...3 {
            connection.send(20_000, 20_000, 20_000)
            connection.send(1_000)
            connection.send(1_000)
            #expect(connection.ends.count == 0)
            try connection.read()
        }
        // A channel that is not closed keeps itself.
        _ = try connection.channel.finish(acceptAlreadyClosed: true)
    }

    @Test("where the server reads nothing, no more than twice the limit comes on top of what went out at once")
    func bound() throws {
        for burst in [60_000, 1] {
            let connection = try Connection(limit: 10_000)
            connection.stopReading()
            connection.send(burst)
            var sent = 0
            while connection.ends.count == 0, sent < 100_000 {
                connection.send(1_000)
                sent += 1_000
            }
            #expect(connection.ends.elements == [.sendBufferFull])
            #expect(sent <= 22_000)
            connection.loop.run()
        }
    }
}
