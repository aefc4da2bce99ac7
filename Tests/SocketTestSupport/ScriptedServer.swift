import Foundation
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix
package import NIOSSL
import RealtimePrimitives

/// Runs `script` for every connection to a listener on loopback, while `body` runs with the listener's port.
///
/// Returns when every script has ended. If `body` leaves a connection open, and a script waits for the end of this
/// connection, the function does not return.
package func withScriptedServer(
    host: String = "127.0.0.1",
    tls: NIOSSLContext? = nil,
    script: @escaping @Sendable (ScriptedPeer) async throws -> Void,
    _ body: (Int) async throws -> Void
) async throws {
    let (accepted, acceptance) = AsyncStream.makeStream(of: AcceptedConnection.self)
    let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        // The buffer is small, so the client is soon unable to write if the script does not read. The size is the same
        // on every machine.
        .childChannelOption(.socketOption(.so_rcvbuf), value: 65_536)
        .childChannelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                let (bytes, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
                if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                let hasFailed = NIOLockedValueBox(false)
                try channel.pipeline.syncOperations.addHandler(ByteStreamHandler(continuation, hasFailed))
                acceptance.yield(AcceptedConnection(channel: channel, bytes: bytes, hasFailed: hasFailed))
            }
        }
        .bind(host: host, port: 0).get()
    try await withThrowingDiscardingTaskGroup { scripts in
        scripts.addTask {
            try await withThrowingDiscardingTaskGroup { scripts in
                for await connection in accepted {
                    scripts.addTask {
                        // The client may close the connection at any time, so errors of the script are ignored.
                        try? await script(ScriptedPeer(connection))
                        try? await connection.channel.close()
                    }
                }
            }
        }
        do {
            try await body(listener.localAddress?.port ?? 0)
        } catch {
            scripts.cancelAll()
            throw error
        }
        try await listener.close()
        acceptance.finish()
    }
}

private struct AcceptedConnection: Sendable {
    let channel: any Channel
    let bytes: AsyncStream<ByteBuffer>
    let hasFailed: NIOLockedValueBox<Bool>
}

private final class ByteStreamHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let continuation: AsyncStream<ByteBuffer>.Continuation
    private let hasFailed: NIOLockedValueBox<Bool>

    init(_ continuation: AsyncStream<ByteBuffer>.Continuation, _ hasFailed: NIOLockedValueBox<Bool>) {
        self.continuation = continuation
        self.hasFailed = hasFailed
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // The stream gets a copy, because NIO reuses a buffer that has no other owner. ThreadSanitizer cannot see that
        // the other thread has released the buffer before.
        continuation.yield(ByteBuffer(bytes: unwrapInboundIn(data).readableBytesView))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        hasFailed.withLockedValue { $0 = true }
        context.close(promise: nil)
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        continuation.finish()
    }
}

/// The server's side of one connection.
package final class ScriptedPeer {
    package struct Frame: Equatable {
        package var opcode: UInt8
        package var payload: [UInt8]

        package static func close(_ code: Int, _ reason: String = "") -> Frame {
            Frame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 0xFF)] + Array(reason.utf8))
        }

        package init(opcode: UInt8, payload: [UInt8]) {
            self.opcode = opcode
            self.payload = payload
        }

        /// Reads the next frame of a client, and unmasks it. Returns nil, and reads nothing, if the frame is
        /// incomplete. A frame without a mask gets an opcode that does not exist.
        package init?(readingFrom bytes: inout ByteBuffer) {
            var rest = bytes
            guard let head = rest.readBytes(length: 2) else { return nil }
            let isMasked = head[1] & 0x80 != 0
            let length: Int? =
                switch head[1] & 0x7F {
                case 126: rest.readInteger(as: UInt16.self).map { Int($0) }
                case 127: rest.readInteger(as: UInt64.self).map { Int($0) }
                case let short: Int(short)
                }
            guard let length, let key = isMasked ? rest.readBytes(length: 4) : [0, 0, 0, 0],
                let masked = rest.readBytes(length: length)
            else { return nil }
            bytes = rest
            self.init(
                opcode: isMasked ? head[0] & 0x0F : .max,
                payload: masked.enumerated().map { $1 ^ key[$0 % 4] }
            )
        }
    }

    private let channel: any Channel
    private let failure: NIOLockedValueBox<Bool>
    private var inbound: AsyncStream<ByteBuffer>.Iterator
    private var unread = ByteBuffer()

    fileprivate init(_ connection: AcceptedConnection) {
        self.channel = connection.channel
        self.failure = connection.hasFailed
        self.inbound = connection.bytes.makeAsyncIterator()
    }

    /// Sets whether the server reads bytes from the socket, or leaves them in the buffers of the system.
    package func setReading(_ isReading: Bool) async throws {
        try await channel.setOption(.autoRead, value: isReading).get()
    }

    /// Whether the connection has ended with an error, such as a reset, or the end of TCP without the end of TLS.
    package var hasFailed: Bool { failure.withLockedValue { $0 } }

    /// Ends the connection with a reset, without the end of TLS.
    package func reset() async throws {
        try await (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)).get()
        let channel = channel
        try await channel.eventLoop.submit {
            guard let tls = try? channel.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) else {
                return channel.close(promise: nil)
            }
            // The handler of TLS would send the end of TLS.
            tls.close(promise: nil)
        }.get()
    }

    package func write(_ bytes: [UInt8]) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    package func write(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: text))
    }

    /// Returns the client's request up to the empty line.
    package func readUpgrade() async -> String {
        var text = ""
        while !text.hasSuffix("\r\n\r\n"), await fill() {
            text += unread.readString(length: unread.readableBytes) ?? ""
        }
        return text
    }

    /// Reads the request and accepts it, with `bytes` in the same segment as the answer.
    package func acceptUpgrade(extra: String = "", followedBy bytes: [UInt8] = []) async throws {
        try await write(Array(acceptance(of: await readUpgrade(), extra: extra).utf8) + bytes)
    }

    /// Returns the client's next unmasked frame, or nil if the connection is closed.
    package func readFrame() async -> Frame? {
        while true {
            if let frame = Frame(readingFrom: &unread) { return frame }
            guard await fill() else { return nil }
        }
    }

    /// Reads this number of bytes, and drops them. Returns false if the client closes the connection before.
    package func skip(_ count: Int) async -> Bool {
        var missing = count
        while true {
            let size = min(missing, unread.readableBytes)
            unread.moveReaderIndex(forwardBy: size)
            missing -= size
            if missing == 0 { return true }
            guard await fill() else { return false }
        }
    }

    /// Waits until the client sends a close frame or closes the connection. After a close frame, the script must
    /// return, because the client waits until the server closes the connection.
    package func readToClose() async {
        while let frame = await readFrame(), frame.opcode != 8 {}
    }

    /// Waits for the client to close the connection.
    ///
    /// - Returns: The client's remaining bytes that the script has not read.
    @discardableResult
    package func readToEnd() async -> String {
        while let bytes = await inbound.next(isolation: #isolation) { unread.writeImmutableBuffer(bytes) }
        return String(buffer: unread)
    }

    private func fill() async -> Bool {
        guard let bytes = await inbound.next(isolation: #isolation) else { return false }
        unread.writeImmutableBuffer(bytes)
        return true
    }
}

/// Returns the correct answer to an upgrade request.
package func acceptance(of request: String, extra: String = "") -> String {
    let key = request.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19) ?? ""
    let digest = SHA1.digest(of: Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))
    return "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(Data(digest).base64EncodedString())\r\n\(extra)\r\n"
}

/// Returns an unmasked frame, as servers send it.
package func serverFrame(_ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true) -> [UInt8] {
    var frame = [isFinal ? opcode | 0x80 : opcode]
    switch payload.count {
    case ...125:
        frame.append(UInt8(payload.count))
    case ...65_535:
        frame.append(126)
        withUnsafeBytes(of: UInt16(payload.count).bigEndian) { frame += $0 }
    default:
        frame.append(127)
        withUnsafeBytes(of: UInt64(payload.count).bigEndian) { frame += $0 }
    }
    return frame + payload
}

package func serverFrame(_ opcode: UInt8, _ text: String, isFinal: Bool = true) -> [UInt8] {
    serverFrame(opcode, Array(text.utf8), isFinal: isFinal)
}
