import Foundation
import NIOCore
import NIOHTTP1
import RealtimePrimitives

/// Collects HTTP requests. An upgrade becomes a connection of the brain, and anything else a request to answer.
final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let options: PusherTestServer.Options
    private let engine: ServerEngine
    private let crossOriginPolicy: CrossOriginPolicy
    private var state = State.waiting
    private var body: [UInt8] = []
    /// Runs while a request is unfinished.
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// The answer to a request of an HTTP transport, which may take a long time.
    private var longAnswer: ResponseWriter?

    private enum State {
        /// Between two requests, or within a head.
        case waiting
        case collecting(HTTPRequestHead)
        /// The request was answered before its end. The rest is read and dropped: if the socket were closed with unread
        /// bytes, the client could lose the answer.
        case discarding
        /// No further request is read: the connection ends with an answer, or switches to another protocol.
        case finished
    }

    init(options: PusherTestServer.Options, engine: ServerEngine) {
        self.options = options
        self.engine = engine
        self.crossOriginPolicy = CrossOriginPolicy(allowedOrigins: options.allowedOrigins)
    }

    static func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        options: PusherTestServer.Options,
        engine: ServerEngine
    ) throws {
        let handler = HTTPRequestHandler(options: options, engine: engine)
        try pipeline.addHandlers(
            RequestByteHandler(handler),
            // Passes on bytes from the same packet as an upgrade request.
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)),
            handler
        )
    }

    // MARK: The time limit

    /// False when no more requests are read.
    var isReading: Bool {
        switch state {
        case .waiting, .collecting: context != nil && !isAnswering
        case .discarding, .finished: false
        }
    }

    /// Clients wait for the end of an answer before they send another request on the same connection.
    private var isAnswering: Bool { longAnswer?.isFinished == false }

    /// Called before the decoder gets bytes. The first byte after a request begins another one.
    func bytesWillArrive() {
        guard isReading, timer == nil, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(options.requestTimeout)) {
            self.requestTimedOut()
        }
    }

    private func requestTimedOut() {
        timer = nil
        guard let channel = context?.channel else { return }
        let message = "the request was not finished within \(options.requestTimeout.inWords)"
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
        // Everything after a parser error is an error too, and so is the end of TCP within a request.
        guard error is HTTPParserError || error is ByteToMessageDecoderError, channel.isActive, !isAnswering else {
            return channel.endTransport()
        }
        let response = RESTResponse(status: 400, body: "not an HTTP request: \(error)")
        switch state {
        case .waiting: write(response, to: nil, on: channel)
        case .collecting(let head): refuse(head, response, on: channel)
        // The connection ends with an answer, which was or will be sent.
        case .discarding, .finished: return
        }
        state = .finished
        channel.endTransportAfterFlush()
    }

    // MARK: Requests

    private func begin(_ head: HTTPRequestHead, on channel: any Channel) {
        state = .collecting(head)
        if let length = head.contentLength, length > max(0, options.maximumRequestSize) {
            return refuseBody(of: head, on: channel)
        }
        guard head.expectsContinue else { return }
        if let response = engine.refusal(ofHead: makeRequest(head)) { return refuse(head, response, on: channel) }
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), promise: nil)
    }

    // These two methods allocate memory for the records. LeakSanitizer's configuration names them.

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

    /// Answers an unfinished request. The request still gets time to end.
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
        // After a request for another protocol, even an unsupported one, NIO reads no further request.
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
        // RFC 6455, 4.2.1 and 4.4.
        guard head.headers.first(name: "Sec-WebSocket-Version") == "13" else {
            let version = PusherTestServer.Request.Header(name: "Sec-WebSocket-Version", value: "13")
            let body = "Sec-WebSocket-Version has to be 13"
            return channel.respond(RESTResponse(status: 426, headers: [version], body: body), isLast: true)
        }
        guard let key = head.headers.first(name: "Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            let body = "Sec-WebSocket-Key has to be the base64 of 16 bytes"
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

    /// Nil without a length. The decoder has rejected values that are not numbers.
    fileprivate var contentLength: UInt64? { headers.first(name: "Content-Length").map { UInt64($0) ?? .max } }

    /// Whether the client sends the body only after a confirmation (RFC 9110, 10.1.1).
    fileprivate var expectsContinue: Bool {
        let hasBody = headers.contains(name: "Transfer-Encoding") || contentLength ?? 0 > 0
        return hasBody && version != .http1_0
            && headers[canonicalForm: "Expect"].contains { $0.lowercased() == "100-continue" }
    }
}

extension RESTResponse {
    /// Adds header fields that the response does not have yet.
    func adding(_ others: [PusherTestServer.Request.Header]) -> RESTResponse {
        var response = self
        response.headers += others.filter { header($0.name) == nil }
        return response
    }
}

extension Channel {
    /// Writes an HTTP response, and ends the connection after the last one. On the event loop only.
    ///
    /// - Parameter hasBody: False for the answer to a `HEAD`, which has only the length of the body.
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
