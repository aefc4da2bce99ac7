import NIOConcurrencyHelpers
package import NIOCore
import NIOHTTP1

/// A request that waits for its answer. The answer is one piece, several pieces, or a WebSocket.
///
/// You can call the methods from any thread. What one thread writes arrives in the order of the calls.
package final class HTTPTestExchange: Sendable {
    /// The way in which the client detects the end of the body.
    package enum Framing: Sendable {
        /// The body is sent in chunks. For a client of HTTP/1.0, the connection closes instead.
        case chunked
        /// The header fields contain the length.
        case counted
        /// The connection closes after the body.
        case untilClose
    }

    /// The parts of the answer that depend on the request.
    struct Form: Sendable {
        var addedFields: [HTTPTestField] = []
        /// Whether the connection closes after the answer.
        var isLast: Bool
        /// Whether to write the body. False for the answer to a `HEAD`, which has only the length of the body.
        var hasBody = true
        /// Whether the client knows chunks, which HTTP/1.0 does not have.
        var knowsChunks = true
        /// The key of a valid upgrade to a WebSocket.
        var webSocketKey: String?
    }

    package let channel: any Channel
    private let form: Form
    private let state = NIOLockedValueBox(State())

    private struct State {
        var framing = Framing.counted
        var hasBegun = false
        var isFinished = false
        var ended: (@Sendable () -> Void)?
    }

    init(_ channel: any Channel, _ form: Form) {
        self.channel = channel
        self.form = form
    }

    /// Whether the request is a valid upgrade to a WebSocket, so that ``accept(fields:rules:receive:)`` can be called.
    package var isUpgrade: Bool { form.webSocketKey != nil }

    /// Whether the whole answer was sent, or the connection has ended.
    package var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    /// Runs a closure on the event loop when an answer in several pieces was sent, or when the connection has ended
    /// before; at once if it has already ended. The closure does not run after ``respond(_:)``, so call this method
    /// before.
    package func whenEnded(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLockedValue { state in
            if !state.isFinished { state.ended = body }
            return state.isFinished
        }
        if isOver { channel.onEventLoop { _ in body() } }
    }

    // MARK: One piece

    package func respond(_ response: HTTPTestResponse) {
        state.withLockedValue { $0.isFinished = true }
        channel.write(response.adding(form.addedFields), isLast: form.isLast, hasBody: form.hasBody).whenComplete { _ in
            if self.form.isLast { self.channel.endTransport() }
        }
    }

    // MARK: Several pieces

    /// Writes the head.
    package func begin(status: Int = 200, fields: [HTTPTestField], framing: Framing = .chunked) {
        let framing: Framing = framing == .chunked && !form.knowsChunks ? .untilClose : framing
        state.withLockedValue { state in
            state.framing = framing
            state.hasBegun = true
        }
        let response = HTTPTestResponse(status: status, fields: fields).adding(form.addedFields)
        var head = response.head
        if framing == .chunked { head += "Transfer-Encoding: chunked\r\n" }
        if form.isLast || framing == .untilClose { head += "Connection: close\r\n" }
        channel.write(ByteBuffer(string: head + "\r\n"), promise: nil)
    }

    /// Writes a piece of the body, which the next ``flush()`` sends. The future succeeds when the system has taken all
    /// bytes.
    @discardableResult
    package func write(_ bytes: ByteBuffer) -> EventLoopFuture<Void> {
        // An empty chunk would end the body.
        guard form.hasBody, bytes.readableBytes > 0 else { return channel.eventLoop.makeSucceededVoidFuture() }
        guard state.withLockedValue({ $0.framing }) == .chunked else { return channel.write(bytes) }
        var buffer = channel.allocator.buffer(capacity: bytes.readableBytes + 12)
        buffer.writeString(String(bytes.readableBytes, radix: 16) + "\r\n")
        buffer.writeImmutableBuffer(bytes)
        buffer.writeString("\r\n")
        return channel.write(buffer)
    }

    package func flush() { channel.flush() }

    /// Ends the body. The connection stays open for another request if the framing and the client allow it.
    @discardableResult
    package func end() -> EventLoopFuture<Void> {
        let framing = state.withLockedValue { $0.framing }
        let isChunked = framing == .chunked && form.hasBody
        let sent = channel.writeAndFlush(ByteBuffer(string: isChunked ? "0\r\n\r\n" : ""))
        sent.whenSuccess { self.finish(closes: self.form.isLast || framing == .untilClose) }
        return sent
    }

    /// Sends what was written, and closes the connection without an end of the body.
    package func dropAfterFlush() {
        guard state.withLockedValue({ $0.hasBegun }) else { return drop() }
        channel.onEventLoop { $0.endTransportAfterFlush() }
    }

    /// Closes the connection at once.
    package func drop() { channel.onEventLoop { $0.endTransport() } }

    /// Ends the answer after the loss of the TCP connection. Does nothing if the answer was already sent.
    func connectionEnded() { finish(closes: false) }

    private func finish(closes: Bool) {
        let (ended, wasFinished) = state.withLockedValue { state in
            defer { (state.isFinished, state.ended) = (true, nil) }
            return (state.ended, state.isFinished)
        }
        guard !wasFinished else { return }
        ended?()
        if closes { channel.endTransport() }
    }

    // MARK: A WebSocket

    /// Answers an upgrade with success. Call this on the event loop. Frames follow.
    ///
    /// - Parameters:
    ///   - fields: Further header fields of the answer.
    ///   - rules: The rules for the client's frames.
    ///   - receive: A closure that gets what the client sends, on the event loop.
    package func accept(
        fields: [HTTPTestField] = [],
        rules: HTTPTestSocket.Rules,
        receive: @escaping (HTTPTestSocket.Event) -> Void
    ) -> HTTPTestSocket {
        state.withLockedValue { $0.isFinished = true }
        let socket = HTTPTestSocket(channel)
        var head = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        head += "Sec-WebSocket-Accept: \(HTTPTestSocket.accept(key: form.webSocketKey ?? ""))\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        channel.write(ByteBuffer(string: head + "\r\n"), promise: nil)
        do {
            try switchToWebSocket(channel.pipeline.syncOperations, WebSocketHandler(rules, receive))
        } catch {
            // The pipeline has no handlers anymore, because the socket is already closed.
            channel.endTransport()
        }
        channel.flush()
        return socket
    }

    private func switchToWebSocket(
        _ pipeline: ChannelPipeline.SynchronousOperations,
        _ handler: WebSocketHandler
    ) throws {
        let http = try pipeline.handler(type: HTTPRequestHandler.self)
        let decoder = try pipeline.context(handlerType: ByteToMessageHandler<HTTPRequestDecoder>.self)
        try pipeline.addHandlers(
            ByteToMessageHandler(handler.makeDecoder()),
            handler,
            position: .after(http)
        )
        // Remove the HTTP handler first, so that the decoder's remaining bytes do not reach it.
        pipeline.removeHandler(http, promise: nil)
        pipeline.removeHandler(context: decoder, promise: nil)
    }
}

extension HTTPTestResponse {
    /// The status line and the header fields, with their line ends.
    fileprivate var head: String {
        var head = "HTTP/1.1 \(HTTPResponseStatus(statusCode: max(0, status)))\r\n"
        for field in fields { head += "\(field.name): \(field.value)\r\n" }
        return head
    }
}

extension Channel {
    /// Writes a whole answer.
    ///
    /// - Parameter hasBody: Whether to write the body. False for the answer to a `HEAD`, which has only the length of
    ///   the body.
    package func write(_ response: HTTPTestResponse, isLast: Bool, hasBody: Bool) -> EventLoopFuture<Void> {
        let mayHaveBody = response.status >= 200 && response.status != 204 && response.status != 304
        var head = response.head
        if !response.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            let isJSON = response.body.first == UInt8(ascii: "{")
            head += "Content-Type: \(isJSON ? "application/json" : "text/plain; charset=utf-8")\r\n"
        }
        if mayHaveBody { head += "Content-Length: \(response.body.count)\r\n" }
        head += isLast ? "Connection: close\r\n\r\n" : "\r\n"
        var bytes = ByteBuffer(string: head)
        if hasBody && mayHaveBody { bytes.writeBytes(response.body) }
        return writeAndFlush(bytes)
    }

    fileprivate func onEventLoop(_ body: @escaping @Sendable (Self) -> Void) {
        if eventLoop.inEventLoop { body(self) } else { eventLoop.execute { body(self) } }
    }
}
