import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1

/// The writer of the answer to one request on a socket. The answer is one piece, or several chunks. The writer reports
/// each sent chunk to the engine.
///
/// Use a writer on the event loop only.
final class ResponseWriter: Sendable {
    /// The parts of the answer that depend on the request.
    struct Form: Sendable {
        var crossOriginHeaders: [PusherTestServer.Request.Header] = []
        /// Whether the connection closes after the answer.
        var isLast: Bool
        /// Whether to write the body. False for the answer to a `HEAD`, which has only the length of the body.
        var hasBody = true
        /// Whether the body is sent in chunks. False for HTTP/1.0, in which the end of the connection marks the end of
        /// the body.
        var isChunked = true
    }

    private let channel: any Channel
    private let engine: ServerEngine
    private let form: Form
    private let state = NIOLockedValueBox(State())

    private struct State {
        var request: RequestID?
        var hasBegun = false
        var isFinished = false
    }

    init(_ channel: any Channel, _ engine: ServerEngine, _ form: Form) {
        self.channel = channel
        self.engine = engine
        self.form = form
    }

    var isFinished: Bool { state.withLockedValue { $0.isFinished } }

    func assign(_ request: RequestID) { state.withLockedValue { $0.request = request } }

    func respond(_ part: ResponsePart) {
        switch part {
        case .whole(let response):
            state.withLockedValue { $0.isFinished = true }
            channel.respond(response.adding(form.crossOriginHeaders), isLast: form.isLast, hasBody: form.hasBody)
        case .head(let response):
            state.withLockedValue { $0.hasBegun = true }
            begin(response.adding(form.crossOriginHeaders))
        case .bytes(let bytes):
            write(bytes)
        case .flush:
            channel.flush()
        case .end:
            channel.writeAndFlush(ByteBuffer(string: form.isChunked ? "0\r\n\r\n" : "")).whenSuccess { self.finish() }
        case .dropped:
            if state.withLockedValue({ $0.hasBegun }) {
                channel.endTransportAfterFlush()
            } else {
                channel.endTransport()
            }
        case .abandoned:
            channel.endTransport()
        }
    }

    /// Ends the answer after the loss of the TCP connection. Does nothing if the answer was already sent.
    func connectionEnded() { finish() }

    private func finish() {
        let (request, wasFinished) = state.withLockedValue { state in
            defer { state.isFinished = true }
            return (state.request, state.isFinished)
        }
        guard !wasFinished else { return }
        if let request { engine.requestEnded(request) }
        if form.isLast || !form.isChunked { channel.endTransport() }
    }

    private func begin(_ response: RESTResponse) {
        var head = response.head
        if form.isChunked { head += "Transfer-Encoding: chunked\r\n" }
        if form.isLast || !form.isChunked { head += "Connection: close\r\n" }
        channel.write(ByteBuffer(string: head + "\r\n"), promise: nil)
    }

    private func write(_ bytes: [UInt8]) {
        var buffer = channel.allocator.buffer(capacity: bytes.count + 12)
        if form.isChunked { buffer.writeString(String(bytes.count, radix: 16) + "\r\n") }
        buffer.writeBytes(bytes)
        if form.isChunked { buffer.writeString("\r\n") }
        guard let request = state.withLockedValue({ $0.request }) else { return }
        // Report the bytes when the system has all of them, because a partly sent line has not reached the client.
        channel.write(buffer).whenSuccess { self.engine.delivered(bytes.count, of: request) }
    }
}

extension RESTResponse {
    /// The status line and the header fields, with their line ends.
    var head: String {
        var head = "HTTP/1.1 \(HTTPResponseStatus(statusCode: max(0, status)))\r\n"
        for header in headers { head += "\(header.name): \(header.value)\r\n" }
        return head
    }
}
