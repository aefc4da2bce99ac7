import Foundation
import NIOCore
import NIOHTTP1
import RealtimePrimitives

/// A handler that collects HTTP requests. An upgrade becomes a connection of the brain. Any other request gets an
/// answer.
final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler, RequestHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let options: PusherTestServer.Options
    private let engine: ServerEngine
    private let crossOriginPolicy: CrossOriginPolicy
    private var state = State.waiting
    private var body: [UInt8] = []
    /// The timer that runs while a request is incomplete.
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// The writer of the answer to an HTTP transport's request. The answer may take a long time.
    private var longAnswer: ResponseWriter?

    private enum State {
        /// The handler waits for the next request, or for the rest of a head.
        case waiting
        case collecting(HTTPRequestHead)
        /// The server has answered before the whole request has arrived. The handler reads and drops the rest. If the
        /// server closed the socket with unread bytes, the client could lose the answer.
        case discarding
        /// The handler reads no further request. The connection closes after an answer, or switches to another
        /// protocol.
        case finished
    }

    init(options: PusherTestServer.Options, engine: ServerEngine, hostRule: HostRule? = nil) {
        self.options = options
        self.engine = engine
        self.crossOriginPolicy = CrossOriginPolicy(allowedOrigins: options.allowedOrigins, hostRule: hostRule)
    }

    static func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        options: PusherTestServer.Options,
        engine: ServerEngine,
        hostRule: HostRule? = nil
    ) throws {
        let handler = HTTPRequestHandler(options: options, engine: engine, hostRule: hostRule)
        try pipeline.addHandlers(
            RequestByteHandler(handler),
            // The decoder passes on bytes that follow an upgrade request in the same packet.
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)),
            handler
        )
    }

    // MARK: The time limit

    var isReading: Bool {
        switch state {
        case .waiting, .collecting: context != nil && !isAnswering
        case .discarding, .finished: false
        }
    }

    /// Whether an answer of an HTTP transport is incomplete. Clients wait for the end of the answer before they send
    /// another request on the same connection.
    private var isAnswering: Bool { longAnswer?.isFinished == false }

    func bytesWillArrive() {
        guard isReading, timer == nil, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(options.requestTimeout)) {
            self.requestTimedOut()
        }
    }

    private func requestTimedOut() {
        timer = nil
        guard let channel = context?.channel else { return }
        let message = "the request was not complete within \(options.requestTimeout.inWords)"
        let response = RESTResponse(status: 408, body: message)
        switch state {
        case .waiting: write(response, to: nil, on: channel)
        case .collecting(let head): refuse(head, response, on: channel)
        case .discarding: return channel.endTransport()
        case .finished: return
        }
        state = .finished
        channel.endTransportAfterFlush()
    }

    private func stopTimer() {
        timer?.cancel()
        timer = nil
    }

    // MARK: ChannelInboundHandler

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        longAnswer?.connectionEnded()
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = context.channel
        // The decoder still delivers the rest of its buffer after the connection has closed. Nothing would report the
        // end of an answer that begins now.
        guard channel.isActive else { return }
        guard !isAnswering else { return channel.endTransport() }
        switch (state, unwrapInboundIn(data)) {
        case (.waiting, .head(let head)): begin(head, on: channel)
        case (.collecting(let head), .body(let bytes)): collect(bytes, of: head, on: channel)
        case (.collecting(let head), .end):
            stopTimer()
            state = .waiting
            answer(head, on: channel)
        case (.discarding, .end):
            state = .finished
            channel.endTransportAfterFlush()
        case (.waiting, _), (.collecting, .head), (.discarding, _), (.finished, _): break
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        // After a parser error, the decoder reports an error for all further bytes. The decoder also reports an error
        // if the TCP connection closes within a request.
        guard error is HTTPParserError || error is ByteToMessageDecoderError, channel.isActive, !isAnswering else {
            return channel.endTransport()
        }
        let response = RESTResponse(status: 400, body: "not an HTTP request: \(error)")
        switch state {
        case .waiting: write(response, to: nil, on: channel)
        case .collecting(let head): refuse(head, response, on: channel)
        // The handler has already written the last answer of the connection.
        case .discarding, .finished: return
        }
        state = .finished
        channel.endTransportAfterFlush()
    }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, on channel: any Channel) {
        state = .collecting(head)
        if let response = crossOriginPolicy.refusal(of: makeRequest(head)) {
            return refuse(head, response, on: channel)
        }
        if let length = head.contentLength, length > max(0, options.maximumRequestSize) {
            return refuseBody(of: head, on: channel)
        }
        guard head.expectsContinue else { return }
        if let response = engine.refusal(ofHead: makeRequest(head)) { return refuse(head, response, on: channel) }
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), promise: nil)
    }

    // These two methods allocate memory for the records. If you rename these methods, also change the names in
    // LeakSanitizer's configuration.

    private func collect(_ bytes: ByteBuffer, of head: HTTPRequestHead, on channel: any Channel) {
        guard bytes.readableBytes <= options.maximumRequestSize - body.count else {
            return refuseBody(of: head, on: channel)
        }
        body += bytes.readableBytesView
    }

    private func makeRequest(_ head: HTTPRequestHead) -> PusherTestServer.Request {
        PusherTestServer.Request(
            method: head.method.rawValue,
            target: head.uri,
            headers: head.headers.map { .init(name: $0.name, value: $0.value) },
            body: body
        )
    }

    private func refuseBody(of head: HTTPRequestHead, on channel: any Channel) {
        refuse(head, RESTFailure.bodyTooLarge(limit: options.maximumRequestSize).response, on: channel)
    }

    /// Answers an incomplete request. The client may still send the rest, until the time limit.
    private func refuse(_ head: HTTPRequestHead, _ response: RESTResponse, on channel: any Channel) {
        let request = makeRequest(head)
        body = []
        state = .discarding
        engine.note(request, answeredWith: response)
        write(response, to: request, on: channel)
    }

    /// Writes the last answer of the connection.
    private func write(_ response: RESTResponse, to request: PusherTestServer.Request?, on channel: any Channel) {
        let response = response.adding(crossOriginPolicy.headers(for: request))
        channel.write(response, isLast: true, hasBody: request?.method != "HEAD")
    }

    private func answer(_ head: HTTPRequestHead, on channel: any Channel) {
        let request = makeRequest(head)
        body = []
        // After a request for another protocol, NIO reads no further request, even if the protocol is unsupported.
        let isLast = !head.isKeepAlive || head.headers.contains(name: "Upgrade") || head.method == .CONNECT
        if isLast { state = .finished }
        if head.isWebSocketUpgrade { return upgrade(head, request, on: channel) }
        let hasBody = head.method != .HEAD
        let corsHeaders = crossOriginPolicy.headers(for: request)
        if let response = crossOriginPolicy.preflightResponse(to: request) {
            engine.note(request, answeredWith: response)
            return channel.respond(response.adding(corsHeaders), isLast: isLast)
        }
        let isChunked = head.version.major > 1 || head.version.major == 1 && head.version.minor >= 1
        let form = ResponseWriter.Form(
            crossOriginHeaders: corsHeaders,
            isLast: isLast,
            hasBody: hasBody,
            isChunked: isChunked
        )
        let writer = ResponseWriter(channel, engine, form)
        if engine.isOfTransport(request) { longAnswer = writer }
        engine.request(request, assign: writer.assign, respond: writer.respond)
    }

    private func upgrade(_ head: HTTPRequestHead, _ request: PusherTestServer.Request, on channel: any Channel) {
        // RFC 6455 requires these checks (4.2.1 and 4.4).
        guard head.headers.first(name: "Sec-WebSocket-Version") == "13" else {
            let version = PusherTestServer.Request.Header(name: "Sec-WebSocket-Version", value: "13")
            let body = "Sec-WebSocket-Version must be 13"
            return channel.respond(RESTResponse(status: 426, headers: [version], body: body), isLast: true)
        }
        guard let key = head.headers.first(name: "Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            let body = "Sec-WebSocket-Key must be the base64 of 16 bytes"
            return channel.respond(RESTResponse(status: 400, body: body), isLast: true)
        }
        let link = ListenerLink(channel: channel, key: key, engine: engine, options: options)
        engine.connectionRequested(request, link: link) { id in link.assign(id) }
    }
}

extension HTTPRequestHead {
    fileprivate var isWebSocketUpgrade: Bool {
        let has = { (name: String, token: String) in
            self.headers[canonicalForm: name].contains { $0.lowercased() == token }
        }
        return method == .GET && has("Connection", "upgrade") && has("Upgrade", "websocket")
    }

    /// The length of the body; nil if the head does not contain it. The decoder has rejected values that are not
    /// numbers.
    fileprivate var contentLength: UInt64? { headers.first(name: "Content-Length").map { UInt64($0) ?? .max } }

    /// Whether the client sends the body only after a confirmation (RFC 9110, 10.1.1).
    fileprivate var expectsContinue: Bool {
        let hasBody = headers.contains(name: "Transfer-Encoding") || contentLength ?? 0 > 0
        return hasBody && version != .http1_0
            && headers[canonicalForm: "Expect"].contains { $0.lowercased() == "100-continue" }
    }
}

extension RESTResponse {
    /// Returns the response with further header fields. Does not replace existing fields.
    func adding(_ others: [PusherTestServer.Request.Header]) -> RESTResponse {
        var response = self
        response.headers += others.filter { header($0.name) == nil }
        return response
    }
}

extension Channel {
    /// Writes an HTTP response, and closes the connection after the last response. Call this on the event loop only.
    ///
    /// - Parameter hasBody: Whether to write the body. False for the answer to a `HEAD`, which has only the length of
    ///   the body.
    func respond(_ response: RESTResponse, isLast: Bool, hasBody: Bool = true) {
        write(response, isLast: isLast, hasBody: hasBody).whenComplete { _ in
            if isLast { self.endTransport() }
        }
    }

    @discardableResult
    fileprivate func write(_ response: RESTResponse, isLast: Bool, hasBody: Bool) -> EventLoopFuture<Void> {
        let mayHaveBody = response.status >= 200 && response.status != 204 && response.status != 304
        let isJSON = response.body.utf8.first == UInt8(ascii: "{")
        var head = response.head
        if response.header("Content-Type") == nil {
            head += "Content-Type: \(isJSON ? "application/json" : "text/plain; charset=utf-8")\r\n"
        }
        if mayHaveBody { head += "Content-Length: \(response.body.utf8.count)\r\n" }
        head += isLast ? "Connection: close\r\n\r\n" : "\r\n"
        return writeAndFlush(ByteBuffer(string: head + (hasBody && mayHaveBody ? response.body : "")))
    }
}
