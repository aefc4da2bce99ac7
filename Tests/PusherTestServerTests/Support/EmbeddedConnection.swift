import NIOCore
import NIOEmbedded
import RealtimeTestHTTP

@testable import PusherTestServer

/// A connection to the listener's handlers without a socket, in virtual time.
final class EmbeddedConnection {
    let channel = EmbeddedChannel()
    let server: PusherTestServer
    private(set) weak var handler: HTTPRequestHandler?

    init(_ change: (inout Options) -> Void = { _ in }) throws {
        var options = Options()
        options.socketIDPrefix = 7
        change(&options)
        let engine = ServerEngine(options: options, eventLoop: channel.eventLoop, webhooks: nil) { 1_700_000_000_000 }
        server = PusherTestServer(options: options, engine: engine, listener: nil)
        let pipeline = channel.pipeline.syncOperations
        try HTTPRequestHandler.addHandlers(to: pipeline, service: HTTPService(options: options, engine: engine))
        handler = try pipeline.handler(type: HTTPRequestHandler.self)
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func send(_ text: String) throws { try channel.writeInbound(ByteBuffer(string: text)) }

    func advance(by time: TimeAmount) { channel.embeddedEventLoop.advanceTime(by: time) }

    /// Returns the bytes that the server has sent since the last call.
    func received() throws -> String {
        var text = ""
        while let bytes = try channel.readOutbound(as: ByteBuffer.self) { text += String(buffer: bytes) }
        return text
    }

    /// Returns the statuses of the answers since the last call.
    func statuses() throws -> [Int] {
        try received().split(separator: "HTTP/1.1 ", omittingEmptySubsequences: true).map { Int($0.prefix(3)) ?? 0 }
    }

    var isOpen: Bool { channel.isActive }
}
