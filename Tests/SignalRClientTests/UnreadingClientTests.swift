import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import NIOPosix
import SignalRClient
import TestTraits
import Testing

@testable import RealtimeTestHTTP
@testable import SignalRTestServer

/// Tests that the hub drops the transport of a client that never reads.
@Suite(.limited) struct UnreadingClientTests {
    private var options: TestHubOptions {
        var options = TestHubOptions()
        options.maximumQueueSize = 100_000
        options.allowsStatefulReconnect = false
        return options
    }

    @Test func aWebSocketThatIsNotReadIsDropped() async throws {
        try await withServer(options) { server in
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.autoRead, value: false)
                .connect(host: "127.0.0.1", port: server.port).get()
            try await channel.writeAndFlush(
                ByteBuffer(
                    string: "GET /hub HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                        + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
                )
            )
            await server.waitForRequests { !$0.isEmpty }
            // A masked frame with the handshake; the mask is zero.
            let handshake = Array(#"{"protocol":"json","version":1}"#.utf8) + [0x1E]
            try await channel.writeAndFlush(
                ByteBuffer(bytes: [0x81, 0x80 | UInt8(handshake.count), 0, 0, 0, 0] + handshake)
            )
            await server.waitForConnections()
            // The buffers of the system take some of these bytes.
            for _ in 0..<64 { server.sendAll("text", String(repeating: "x", count: 1 << 20)) }
            await server.waitForDisconnections()
            try? await channel.close()
        }
    }

    private static func handshake(version: Int) -> [UInt8] {
        Array(#"{"protocol":"json","version":\#(version)}"#.utf8) + [0x1E]
    }

    @Test func aClientThatNeverPollsIsDropped() async throws {
        var options = options
        options.allowsStatefulReconnect = true
        try await withServer(options, inMemory: true) { server in
            server.enter { brain in
                let connection = brain.makeConnection(headers: [:])
                brain.received(Self.handshake(version: 1), from: connection)
            }
            await server.waitForConnections()
            for _ in 0..<4 { server.sendAll("text", String(repeating: "x", count: 50_000)) }
            await server.waitForDisconnections()
        }
    }

    @Test func aClientThatNeverAcknowledgesIsDropped() async throws {
        var options = options
        options.allowsStatefulReconnect = true
        try await withServer(options, inMemory: true) { server in
            let opened = try await InMemoryOpener(server)
                .open(wantsResumption: true, on: MultiThreadedEventLoopGroup.singleton.next()) { _ in }
            opened.transport.send(Self.handshake(version: 2), promise: nil)
            await server.waitForConnections()
            for _ in 0..<4 { server.sendAll("text", String(repeating: "x", count: 50_000)) }
            await server.waitForDisconnections()
            // Without a transport, the connection would otherwise stay until its timeout.
            await #expect(throws: SignalRError.unexpectedResponseCode(404)) {
                _ = try await opened.reopen { _ in }
            }
        }
    }

    @Test func messagesThatNoPollTakesEndTheLink() {
        let loop = EmbeddedEventLoop()
        let ends = NIOLockedValueBox(0)
        let link = PollLink(limit: 1_000, on: loop) { event in
            if case .ended = event { ends.withLockedValue { $0 += 1 } }
        }
        for _ in 1...2 { link.write([UInt8](repeating: 1, count: 600), isBinary: true, pieceSize: nil) }
        #expect(ends.withLockedValue { $0 } == 0)
        for _ in 1...2 { link.write([1], isBinary: true, pieceSize: nil) }
        #expect(ends.withLockedValue { $0 } == 1)
        // A later poll gets nothing.
        let channel = EmbeddedChannel(loop: loop)
        link.poll(HTTPTestExchange(channel, .init(isLast: false)))
        let isActive = channel.isActive
        #expect(!isActive)
    }

    @Test func eventsThatAreNotReadEndTheStream() throws {
        let channel = EmbeddedChannel()
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        try channel.pipeline.syncOperations.addHandler(OutputHolder())
        channel.isWritable = false
        let link = EventLink(HTTPTestExchange(channel, .init(isLast: false)), limit: 1_500)
        link.begin()
        for _ in 1...2 { link.write(Array(repeating: UInt8(ascii: "x"), count: 900), isBinary: false, pieceSize: nil) }
        let wasActive = channel.isActive
        link.write([UInt8(ascii: "x")], isBinary: false, pieceSize: nil)
        // The test library cannot print a closed channel.
        let isActive = channel.isActive
        #expect(wasActive && !isActive)
    }

    /// A handler that holds all output, so that the output waits in the channel.
    private final class OutputHolder: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func flush(context: ChannelHandlerContext) {}
    }
}
