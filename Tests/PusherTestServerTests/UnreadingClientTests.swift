import NIOCore
import NIOEmbedded
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Clients that stop reading", .limited)
struct UnreadingClientTests {
    /// A handler that holds all output, so that the output waits in the channel.
    private final class OutputHolder: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func flush(context: ChannelHandlerContext) {}
    }

    @Test(
        "the server drops a WebSocket connection when more than 16 MiB, or the limit of the options, wait for the client",
        arguments: [(nil, 4), (40 << 20, 10)] as [(Int?, Int)]
    )
    func webSocket(limit: Int?, count: Int) throws {
        let client = try EmbeddedConnection { if let limit { $0.maximumQueueSize = limit } }
        try client.channel.pipeline.syncOperations.addHandler(OutputHolder(), position: .first)
        client.channel.isWritable = false
        try client.send(RequestLimitTests.upgrade)
        let text = String(repeating: "x", count: 4 << 20)
        for _ in 1...count { client.server.sendText(text) }
        #expect(client.isOpen && client.server.connections.count == 1)
        client.server.sendText(text)
        #expect(!client.isOpen)
        client.channel.embeddedEventLoop.run()
        #expect(client.server.connections.isEmpty)
        #expect(client.server.records.last?.event == .connectionEnded)
    }

    @Test("one message above the limit does not end the connection of a client that reads")
    func largeMessage() throws {
        let client = try EmbeddedConnection { $0.maximumQueueSize = 1_000 }
        try client.send(RequestLimitTests.upgrade)
        for _ in 1...3 {
            client.server.sendText(String(repeating: "x", count: 100_000))
            #expect(try client.received().utf8.count > 100_000)
        }
        #expect(client.isOpen)
    }
}
