import NIOCore
import NIOEmbedded
import Testing

@testable import PusherTestServer

@Suite("Clients that stop reading", .timeLimit(.minutes(5)))
struct UnreadingClientTests {
    /// A handler that holds all output, so that the output waits in the channel.
    private final class OutputHolder: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func flush(context: ChannelHandlerContext) {}
    }

    @Test("the server drops a WebSocket connection if more than 64 MiB wait for the client")
    func webSocket() throws {
        let client = try EmbeddedConnection()
        try client.channel.pipeline.syncOperations.addHandler(OutputHolder(), position: .first)
        client.channel.isWritable = false
        try client.send(RequestLimitTests.upgrade)
        let text = String(repeating: "x", count: 4 << 20)
        for _ in 1...15 { client.server.sendText(text) }
        #expect(client.isOpen && client.server.connections.count == 1)
        client.server.sendText(text)
        #expect(!client.isOpen)
        client.channel.embeddedEventLoop.run()
        #expect(client.server.connections.isEmpty)
        #expect(client.server.records.last?.event == .connectionEnded)
    }
}
