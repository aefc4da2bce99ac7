import Foundation
package import NIOCore
package import NIOHTTP1
package import NIOSSL
import RealtimeNetworking
import RealtimePrimitives

/// A handler that collects the requests of one TCP connection, and passes them to the service.
package final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler, RequestHandler {
    package typealias InboundIn = HTTPServerRequestPart

    private let service: any HTTPTestService
    private var state = State.waiting
    private var body: [UInt8] = []
    /// The timer that runs while a request is incomplete.
    private var timer: Scheduled<Void>?
    private var context: ChannelHandlerContext?
    /// The latest request that the service answers. The answer may take a long time.
    private var exchange: HTTPTestExchange?

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

    private init(_ service: any HTTPTestService) { self.service = service }

    /// Adds the handlers for HTTP to a new connection.
    package static func addHandlers(
        to pipeline: ChannelPipeline.SynchronousOperations,
        service: any HTTPTestService,
        tls: NIOSSLContext? = nil
    ) throws {
        if let tls { try pipeline.addHandler(NIOSSLServerHandler(context: tls)) }
        let handler = HTTPRequestHandler(service)
        try pipeline.addHandlers(
            RequestByteHandler(handler),
            // The decoder passes on bytes that follow an upgrade request in the same packet.
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes)),
            handler
        )
    }

    // MARK: The time limit

    package var isReading: Bool {
        switch state {
        case .waiting, .collecting: context != nil && !isAnswering
        case .discarding, .finished: false
        }
    }

    /// Whether an answer is incomplete. Clients wait for the end of the answer before they send another request on the
    /// same connection.
    private var isAnswering: Bool { exchange?.isFinished == false }

    package func bytesWillArrive() {
        guard isReading, timer == nil, let context else { return }
        timer = context.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(service.limits.requestTimeout)) {
            self.requestTimedOut()
        }
    }

    private func requestTimedOut() {
        timer = nil
        guard let channel = context?.channel else { return }
        let message = "the request was not complete within \(service.limits.requestTimeout.inWords)"
        let response = HTTPTestResponse(status: 408, text: message)
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

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) {
        stopTimer()
        self.context = nil
    }

    package func channelInactive(context: ChannelHandlerContext) {
        exchange?.connectionEnded()
        context.fireChannelInactive()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = context.channel
        // The decoder still delivers the rest of its buffer after the connection has closed. Nothing would report the
        // end of an answer that begins now.
        guard channel.isActive else { return }
        if isAnswering {
            // What follows the last request of a connection is ignored.
            if case .finished = state { return }
            return channel.endTransport()
        }
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

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let channel = context.channel
        // After a parser error, the decoder reports an error for all further bytes. The decoder also reports an error
        // if the TCP connection closes within a request.
        guard error is HTTPParserError || error is ByteToMessageDecoderError, channel.isActive else {
            return channel.endTransport()
        }
        if case .finished = state { return }
        guard !isAnswering else { return channel.endTransport() }
        let response = HTTPTestResponse(status: 400, text: "not an HTTP request: \(error)")
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
        if let response = service.crossOriginPolicy?.refusal(of: makeRequest(head)) {
            return refuse(head, response, on: channel)
        }
        if let length = head.contentLength, length > max(0, service.limits.maximumRequestSize) {
            return refuseBody(of: head, on: channel)
        }
        guard head.expectsContinue else { return }
        if let response = service.refusal(ofHead: makeRequest(head)) { return refuse(head, response, on: channel) }
        channel.writeAndFlush(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), promise: nil)
    }

    // These two methods allocate memory for the records. If you rename these methods, also change the names in
    // LeakSanitizer's configuration.

    private func collect(_ bytes: ByteBuffer, of head: HTTPRequestHead, on channel: any Channel) {
        guard bytes.readableBytes <= service.limits.maximumRequestSize - body.count else {
            return refuseBody(of: head, on: channel)
        }
        body += bytes.readableBytesView
    }

    private func makeRequest(_ head: HTTPRequestHead) -> HTTPTestRequest {
        HTTPTestRequest(
            method: head.method.rawValue,
            target: head.uri,
            fields: head.headers.map { .init(name: $0.name, value: $0.value) },
            body: body
        )
    }

    private func refuseBody(of head: HTTPRequestHead, on channel: any Channel) {
        let message = "the body exceeds the allowed maximum (\(service.limits.maximumRequestSize) bytes)"
        refuse(head, HTTPTestResponse(status: 413, text: message), on: channel)
    }

    /// Answers an incomplete request. The client may still send the rest, until the time limit.
    private func refuse(_ head: HTTPRequestHead, _ response: HTTPTestResponse, on channel: any Channel) {
        let request = makeRequest(head)
        body = []
        state = .discarding
        service.answered(request, status: response.status)
        write(response, to: request, on: channel)
    }

    /// Writes the last answer of the connection.
    private func write(_ response: HTTPTestResponse, to request: HTTPTestRequest?, on channel: any Channel) {
        let response = response.adding(service.crossOriginPolicy?.headers(for: request) ?? [])
        _ = channel.write(response, isLast: true, hasBody: request?.method != "HEAD")
    }

    private func answer(_ head: HTTPRequestHead, on channel: any Channel) {
        let request = makeRequest(head)
        body = []
        // After a request for another protocol, NIO reads no further request, even if the protocol is unsupported.
        let isLast = !head.isKeepAlive || head.headers.contains(name: "Upgrade") || head.method == .CONNECT
        if isLast { state = .finished }
        var form = HTTPTestExchange.Form(isLast: isLast, hasBody: head.method != .HEAD)
        form.addedFields = service.crossOriginPolicy?.headers(for: request) ?? []
        form.knowsChunks = head.version.major > 1 || head.version.major == 1 && head.version.minor >= 1
        if head.isWebSocketUpgrade {
            if let response = head.invalidUpgrade {
                return HTTPTestExchange(channel, form).respond(response)
            }
            form.webSocketKey = head.headers.first(name: "Sec-WebSocket-Key")
        }
        let exchange = HTTPTestExchange(channel, form)
        if let response = service.crossOriginPolicy?.preflightResponse(to: request) {
            service.answered(request, status: response.status)
            return exchange.respond(response)
        }
        self.exchange = exchange
        service.respond(to: request, exchange)
    }
}

extension HTTPRequestHead {
    fileprivate var isWebSocketUpgrade: Bool {
        let has = { (name: String, token: String) in
            self.headers[canonicalForm: name].contains { $0.lowercased() == token }
        }
        return method == .GET && has("Connection", "upgrade") && has("Upgrade", "websocket")
    }

    /// The answer to an upgrade that RFC 6455 does not allow (4.2.1 and 4.4); nil for a valid one.
    fileprivate var invalidUpgrade: HTTPTestResponse? {
        guard headers.first(name: "Sec-WebSocket-Version") == "13" else {
            let version = HTTPTestField(name: "Sec-WebSocket-Version", value: "13")
            return HTTPTestResponse(status: 426, fields: [version], text: "Sec-WebSocket-Version must be 13")
        }
        guard let key = headers.first(name: "Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            return HTTPTestResponse(status: 400, text: "Sec-WebSocket-Key must be the base64 of 16 bytes")
        }
        return nil
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
