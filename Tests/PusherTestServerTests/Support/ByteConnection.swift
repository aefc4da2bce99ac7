import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestSupport

/// A TCP connection that reads bytes as they arrive. Either side may close its half.
actor ByteConnection {
    private let channel: any Channel
    private let chunks: AsyncStream<[UInt8]>
    private var unread: [UInt8] = []
    private let wasReset: NIOLockedValueBox<Bool>

    private init(_ channel: any Channel, _ chunks: AsyncStream<[UInt8]>, _ wasReset: NIOLockedValueBox<Bool>) {
        self.channel = channel
        self.chunks = chunks
        self.wasReset = wasReset
    }

    /// Whether the other side has reset the connection. The value is known after all bytes were read.
    nonisolated var isReset: Bool { wasReset.withLockedValue { $0 } }

    static func connect(host: String = "127.0.0.1", port: Int) async throws -> ByteConnection {
        let (chunks, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        let wasReset = NIOLockedValueBox(false)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(TimeAmount(.patience))
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ChunkHandler(continuation, wasReset))
                }
            }
            .connect(host: host, port: port).get()
        return ByteConnection(channel, chunks, wasReset)
    }

    /// Listens on a free port while `body` runs. Passes the port and the connections to `body`.
    static func withListener<Result>(
        _ body: (_ port: Int, _ connections: AsyncStream<ByteConnection>) async throws -> Result
    ) async throws -> Result {
        let (connections, continuation) = AsyncStream.makeStream(of: ByteConnection.self)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (chunks, chunkContinuation) = AsyncStream.makeStream(of: [UInt8].self)
                    let wasReset = NIOLockedValueBox(false)
                    try channel.pipeline.syncOperations.addHandler(ChunkHandler(chunkContinuation, wasReset))
                    continuation.yield(ByteConnection(channel, chunks, wasReset))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        defer { listener.close(promise: nil) }
        return try await body(listener.localAddress?.port ?? 0, connections)
    }

    nonisolated func write(_ bytes: [UInt8]) { channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil) }

    nonisolated func write(_ text: String) { write(Array(text.utf8)) }

    /// Closes this side's half after all bytes have been sent.
    nonisolated func endOutput() {
        let channel = self.channel
        channel.writeAndFlush(ByteBuffer()).whenComplete { _ in channel.close(mode: .output, promise: nil) }
    }

    nonisolated func close() { channel.close(promise: nil) }

    /// Reads the requested number of bytes, or fewer if the other side has ended.
    func read(_ count: Int) async -> [UInt8] {
        while unread.count < count, let chunk = await nextChunk() { unread += chunk }
        defer { unread.removeFirst(min(count, unread.count)) }
        return Array(unread.prefix(count))
    }

    /// Returns the unread bytes, or waits for the next bytes. Returns no bytes if the other side has ended.
    func readSome() async -> [UInt8] {
        if unread.isEmpty { unread = await nextChunk() ?? [] }
        defer { unread = [] }
        return unread
    }

    func readToEnd() async -> [UInt8] { await read(.max) }

    func readText() async -> String { String(decoding: await readToEnd(), as: UTF8.self) }

    /// Reads a head up to its blank line, and returns its lines.
    func readHead() async -> [String] {
        var head: [UInt8] = []
        while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)) {
            let byte = await read(1)
            if byte.isEmpty { break }
            head += byte
        }
        return String(decoding: head, as: UTF8.self).split(separator: "\r\n").map(String.init)
    }

    private func nextChunk() async -> [UInt8]? {
        for await chunk in chunks { return chunk }
        return nil
    }
}

private final class ChunkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let chunks: AsyncStream<[UInt8]>.Continuation
    private let wasReset: NIOLockedValueBox<Bool>

    init(_ chunks: AsyncStream<[UInt8]>.Continuation, _ wasReset: NIOLockedValueBox<Bool>) {
        self.chunks = chunks
        self.wasReset = wasReset
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        chunks.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { chunks.finish() }
    }

    func channelInactive(context: ChannelHandlerContext) { chunks.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        if (error as? IOError)?.errnoCode == ECONNRESET { wasReset.withLockedValue { $0 = true } }
        context.close(promise: nil)
    }
}
