import NIOCore
import NIOPosix
import SignalRTestServer
import Testing

/// A TCP connection of a client that writes and reads bytes.
final class Wire {
    private let channel: any Channel
    private let parts: AsyncStream<[UInt8]>
    private var bytes: [UInt8] = []

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let parts: AsyncStream<[UInt8]>.Continuation

        init(_ parts: AsyncStream<[UInt8]>.Continuation) { self.parts = parts }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            parts.yield(Array(unwrapInboundIn(data).readableBytesView))
        }

        func handlerRemoved(context: ChannelHandlerContext) { parts.finish() }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// The header fields of an upgrade. Each line ends with a line feed; see ``exchange(_:upTo:)``.
    static let upgrade = """
        Host: localhost
        Connection: Upgrade
        Upgrade: websocket
        Sec-WebSocket-Version: 13
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==


        """

    init(port: Int) async throws {
        let (parts, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        self.parts = parts
        channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Reader(continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
    }

    // MARK: HTTP

    /// Sends text whose line feeds become line ends, and returns everything that arrives up to an end.
    func exchange(_ request: String, upTo end: String) async throws -> String {
        let text = request.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        try await channel.writeAndFlush(ByteBuffer(string: text))
        return await receive(upTo: end)
    }

    /// Returns everything that arrives up to an end, or up to the end of the connection.
    func receive(upTo end: String) async -> String {
        while !String(decoding: bytes, as: UTF8.self).contains(end), await more() {}
        defer { bytes = [] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Sends a request, and returns the status and the body of the answer.
    func request(
        _ method: String,
        _ target: String,
        fields: String = "",
        body: String = ""
    ) async throws -> (status: Int, body: String) {
        let head = "\(method) \(target) HTTP/1.1\nHost: localhost\n\(fields)Content-Length: \(body.utf8.count)\n\n"
        let text = head.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        try await channel.writeAndFlush(ByteBuffer(string: text + body))
        return try await answer(hasBody: method != "HEAD")
    }

    func answer(hasBody: Bool = true) async throws -> (status: Int, body: String) {
        var end = Self.headEnd(bytes)
        while end == nil, await more() { end = Self.headEnd(bytes) }
        let count = try #require(end)
        let lines = String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\r\n")
        bytes.removeFirst(count)
        let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }
            .flatMap { Int($0.dropFirst("content-length: ".count)) }
        let size = hasBody ? length ?? 0 : 0
        while bytes.count < size, await more() {}
        defer { bytes.removeFirst(min(size, bytes.count)) }
        let status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return (status, String(decoding: bytes.prefix(size), as: UTF8.self))
    }

    private static func headEnd(_ bytes: [UInt8]) -> Int? {
        bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound
    }

    private func more() async -> Bool {
        guard let part = await parts.first(where: { _ in true }) else { return false }
        bytes += part
        return true
    }

    /// Waits for the end of the connection, and returns whether nothing arrived before.
    func endsSilently() async -> Bool {
        while await more() {}
        return bytes.isEmpty
    }

    // MARK: WebSockets

    /// A frame of the server, with the first byte of its head.
    struct Frame: Equatable, CustomStringConvertible {
        var head: UInt8
        var payload: [UInt8]

        var text: String { String(decoding: payload, as: UTF8.self) }
        var description: String { "\(String(head, radix: 16)) \(text)" }

        /// A close frame with a code.
        static func close(_ code: UInt16) -> Frame {
            Frame(head: 0x88, payload: [UInt8(code >> 8), UInt8(code & 0xFF)])
        }

        /// A whole text message.
        static func text(_ text: String) -> Frame { Frame(head: 0x81, payload: Array(text.utf8)) }
    }

    /// Opens a WebSocket.
    ///
    /// - Parameter early: A message of fewer than 126 bytes that the server gets together with the request.
    func open(_ target: String = "/hub", fields: String = "", early: String = "") async throws -> Bool {
        let text = "GET \(target) HTTP/1.1\n" + fields + Self.upgrade
        let request = text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        var bytes = ByteBuffer(string: request)
        if !early.isEmpty { bytes.writeBytes([0x81, 0x80 | UInt8(early.utf8.count), 0, 0, 0, 0] + Array(early.utf8)) }
        try await channel.writeAndFlush(bytes)
        return try await answer(hasBody: false).status == 101
    }

    /// Opens a WebSocket, and completes the handshake.
    func connect(_ target: String = "/hub", _ hubProtocol: String = "json", version: Int = 1) async throws {
        #expect(try await open(target))
        try await send(#"{"protocol":"\#(hubProtocol)","version":\#(version)}"# + "\u{1E}")
        #expect(await frame()?.text == "{}\u{1E}")
    }

    /// Sends a text message over the WebSocket. Its mask is zero.
    func send(_ message: String) async throws { try await send(0x81, Array(message.utf8)) }

    /// Sends a call or another message of the JSON protocol, and its end.
    func call(_ message: String) async throws { try await send(message + "\u{1E}") }

    func send(_ head: UInt8, _ payload: [UInt8], isMasked: Bool = true) async throws {
        let mask: UInt8 = isMasked ? 0x80 : 0
        var frame = ByteBuffer(bytes: [head])
        if payload.count < 126 {
            frame.writeInteger(mask | UInt8(payload.count))
        } else {
            frame.writeInteger(mask | 127)
            frame.writeInteger(UInt64(payload.count))
        }
        if isMasked { frame.writeInteger(UInt32(0)) }
        frame.writeBytes(payload)
        try await channel.writeAndFlush(frame)
    }

    /// Returns the next frame that is not a ping of the hub, or nil at the end of the connection.
    func frame() async -> Frame? {
        while true {
            if let frame = takeFrame() {
                if frame.payload != Array("{\"type\":6}\u{1E}".utf8) { return frame }
            } else if await !more() {
                return nil
            }
        }
    }

    /// Returns the texts of the next frames.
    func texts(_ count: Int) async -> [String] {
        var texts: [String] = []
        while texts.count < count, let frame = await frame() { texts.append(frame.text) }
        return texts
    }

    private func takeFrame() -> Frame? {
        guard bytes.count >= 2 else { return nil }
        var (start, size) = (2, Int(bytes[1] & 0x7F))
        if size == 126 {
            guard bytes.count >= 4 else { return nil }
            (start, size) = (4, Int(bytes[2]) << 8 | Int(bytes[3]))
        } else if size == 127 {
            guard bytes.count >= 10 else { return nil }
            (start, size) = (10, bytes[2..<10].reduce(0) { $0 << 8 | Int($1) })
        }
        guard bytes.count >= start + size else { return nil }
        defer { bytes.removeFirst(start + size) }
        return Frame(head: bytes[0], payload: Array(bytes[start..<start + size]))
    }

    func close() async throws { try await channel.close() }

    /// Negotiates, and returns the token of the connection, encoded for a query.
    static func negotiate(_ server: SignalRTestServer, _ query: String = "", hub: String = "/hub") async throws
        -> String
    {
        let wire = try await Wire(port: server.port)
        let answer = try await wire.request("POST", "\(hub)/negotiate?negotiateVersion=1\(query)")
        try await wire.close()
        let token = answer.body.split(separator: #""connectionToken":""#).last?.prefix { $0 != "\"" } ?? ""
        return String(token).replacing("/", with: "%2F").replacing("+", with: "%2B")
    }
}

/// Opens a stream of events, and sends a handshake, while the body runs. The answer to the handshake is the first event.
func withEvents(
    _ server: SignalRTestServer,
    _ query: String = "",
    handshake: String = #"{"protocol":"json","version":1}"#,
    _ body: (_ events: Wire, _ token: String) async throws -> Void
) async throws {
    let token = try await Wire.negotiate(server, query)
    try await withWire(server) { events in
        let request = "GET /hub?id=\(token) HTTP/1.1\nHost: localhost\nAccept: text/event-stream\n\n"
        _ = try await events.exchange(request, upTo: ":\r\n\r\n")
        try await withWire(server) { wire in
            let answer = try await wire.request("POST", "/hub?id=\(token)", body: handshake + "\u{1E}")
            #expect(answer.status == 200)
        }
        try await body(events, token)
    }
}

/// Connects to a server while the body runs.
func withWire(_ server: SignalRTestServer, _ body: (Wire) async throws -> Void) async throws {
    let wire = try await Wire(port: server.port)
    try await body(wire)
    try? await wire.close()
}
