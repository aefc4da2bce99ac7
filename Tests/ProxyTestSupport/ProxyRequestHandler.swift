import NIOCore
import NIOHTTP1

/// Answers the one request of a client's connection. The answer is a tunnel, the origin's answer, or the proxy's own
/// answer.
final class ProxyRequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private enum State {
        case waiting
        /// The end of the request may have arrived already. The gate holds later bytes back.
        case connecting(isComplete: Bool)
        case forwarding(origin: any Channel, isComplete: Bool)
        /// The proxy does not answer, and keeps the connection open until the client closes it.
        case silent
        /// The proxy has answered, or opened a tunnel.
        case finished
    }

    private let engine: ProxyEngine
    private let gate: ProxyHeadGate
    private var state = State.waiting
    private var context: ChannelHandlerContext?
    private var head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "")
    private var request: ProxyRequest?
    private var isAuthorized = false
    private var hasResponseHead = false
    private var hasInputEnded = false

    /// The time limit for the client to close its connection after the answer.
    private static let lingerTimeout = TimeAmount.seconds(2)

    static func addHandlers(to channel: any Channel, engine: ProxyEngine) throws {
        try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
        let gate = ProxyHeadGate()
        try channel.pipeline.syncOperations.addHandlers(
            gate,
            ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes)),
            HTTPResponseEncoder(),
            ProxyRequestHandler(engine: engine, gate: gate)
        )
    }

    private init(engine: ProxyEngine, gate: ProxyHeadGate) {
        self.engine = engine
        self.gate = gate
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    // MARK: From the client

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (Self.unwrapInboundIn(data), state) {
        case (.head(let head), .waiting):
            self.head = head
            answer(head, context)
        case (.body(let bytes), .forwarding(let origin, false)):
            origin.write(HTTPClientRequestPart.body(.byteBuffer(bytes)), promise: nil)
        case (.end, .connecting):
            state = .connecting(isComplete: true)
        case (.end(let trailers), .forwarding(let origin, false)):
            state = .forwarding(origin: origin, isComplete: true)
            origin.writeAndFlush(HTTPClientRequestPart.end(trailers), promise: nil)
            gate.discard()
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .forwarding(let origin, _) = state { origin.flush() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return }
        hasInputEnded = true
        switch state {
        // A tunnel stays open when the client closes its side, because the other direction still works. In the other
        // states, a client that has closed its side has usually gone away.
        case .waiting, .silent, .forwarding: context.close(promise: nil)
        case .connecting, .finished: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .forwarding(let origin, _) = state {
            if !hasResponseHead { record(status: nil) }
            origin.close(promise: nil)
        }
        if case .connecting = state { record(status: nil) }
        state = .finished
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (state, error) {
        case (.waiting, ProxyHeadGate.HeadError.tooLong): answer(status: 431, "the head is too long")
        case (.waiting, ProxyHeadGate.HeadError.ended): answer(status: 400, "not an HTTP/1 request")
        case (.waiting, is HTTPParserError): answer(status: 400, "not an HTTP request: \(error)")
        case (_, ProxyHeadGate.HeadError.ended): break
        case (.waiting, _), (.forwarding(_, isComplete: false), _): context.close(promise: nil)
        case (.connecting, _), (.forwarding, _), (.silent, _), (.finished, _): break
        }
    }

    // MARK: Answers

    private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard let request = ProxyRequest(head) else {
            return answer(status: 400, "not a request to a proxy. Send CONNECT host:port, or a URL with http://.")
        }
        self.request = request
        isAuthorized = engine.options.credentials.map { head.headers.hasProxyAuthorization($0) } ?? true
        var bytesAfterSuccess: [UInt8] = []
        switch engine.nextFault() {
        case .refused(let status):
            return refuse(status: status, "refused by the test")
        case .silent:
            record(status: nil)
            state = .silent
            return gate.discard()
        case .closed:
            record(status: nil)
            state = .finished
            return context.close(promise: nil)
        case .raw(let bytes):
            record(status: nil)
            gate.write(ByteBuffer(bytes: bytes))
            return finish()
        case .followed(let bytes):
            bytesAfterSuccess = bytes
        case nil:
            break
        }
        guard isAuthorized else {
            return refuse(status: 407, "the proxy's user name and password are missing or wrong")
        }
        guard let address = request.target.loopbackAddress(hosts: engine.options.hosts) else {
            return refuse(status: 502, "\(request.target.host) is not a known address of this machine")
        }
        state = .connecting(isComplete: false)
        engine.connect(to: address, allowsHalfClosure: request.forwardedHead == nil).assumeIsolated().whenComplete {
            self.connected($0, request, bytesAfterSuccess)
        }
    }

    private func connected(_ result: Result<any Channel, any Error>, _ request: ProxyRequest, _ bytes: [UInt8]) {
        guard case .connecting(let isComplete) = state, let context else {
            // The client has closed its connection, so the proxy no longer needs the origin.
            if case .success(let origin) = result { origin.close(promise: nil) }
            return
        }
        switch result {
        case .success(let origin) where hasInputEnded && request.forwardedHead != nil:
            origin.close(promise: nil)
            context.close(promise: nil)
        case .failure(let error):
            refuse(status: error is ChannelError ? 504 : 502, "cannot connect to the target: \(error)")
        case .success(let origin):
            do {
                if let head = request.forwardedHead {
                    try forward(head, isComplete, to: origin, context)
                } else {
                    try tunnel(to: origin, context, bytes)
                }
                try origin.syncOptions?.setOption(.autoRead, value: true)
            } catch {
                // One of the connections is closed, so handlers cannot be added to its pipeline.
                origin.close(promise: nil)
                context.close(promise: nil)
            }
        }
    }

    private func tunnel(to origin: any Channel, _ context: ChannelHandlerContext, _ bytes: [UInt8]) throws {
        let pressure = BackPressureHandler.makePair()
        let ends = ProxyTunnelHandler.makePair()
        try origin.pipeline.syncOperations.addHandlers(pressure.1, ends.1)
        try context.pipeline.syncOperations.addHandlers(pressure.0, ends.0, position: .after(gate))
        state = .finished
        engine.tunnelBegan(client: context.channel, origin: origin)
        record(status: 200)
        var answer = ByteBuffer(string: "HTTP/1.1 200 Connection established\r\n\r\n")
        answer.writeBytes(bytes)
        gate.write(answer)
        gate.open()
    }

    private func forward(
        _ forwardedHead: HTTPRequestHead,
        _ isComplete: Bool,
        to origin: any Channel,
        _ context: ChannelHandlerContext
    ) throws {
        let pressure = BackPressureHandler.makePair()
        try context.pipeline.syncOperations.addHandler(pressure.0, position: .after(gate))
        try origin.pipeline.syncOperations.addHandlers(
            pressure.1,
            HTTPRequestEncoder(),
            ByteToMessageHandler(HTTPResponseDecoder()),
            ProxyOriginHandler(client: self)
        )
        state = .forwarding(origin: origin, isComplete: isComplete)
        if head.headers.contains(name: "Expect"), !isComplete {
            let goOn = HTTPResponseHead(version: .http1_1, status: .continue)
            context.writeAndFlush(Self.wrapOutboundOut(.head(goOn)), promise: nil)
        }
        origin.write(HTTPClientRequestPart.head(forwardedHead), promise: nil)
        if isComplete { origin.write(HTTPClientRequestPart.end(nil), promise: nil) }
        origin.flush()
        if isComplete { gate.discard() } else { gate.open() }
    }

    private func record(status: Int?) {
        if let request { engine.record(request, isAuthorized: isAuthorized, status: status) }
    }

    private func refuse(status: Int, _ text: String) {
        record(status: status)
        answer(status: status, text)
    }

    private func answer(status: Int, _ text: String) {
        guard let context else { return }
        let body = ByteBuffer(string: text + "\n")
        var response = HTTPResponseHead(version: .http1_1, status: HTTPResponseStatus(statusCode: max(0, status)))
        if status == 407 { response.headers.add(name: "Proxy-Authenticate", value: engine.options.challenge) }
        response.headers.add(name: "Content-Type", value: "text/plain; charset=utf-8")
        response.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
        response.headers.add(name: "Connection", value: "close")
        context.write(Self.wrapOutboundOut(.head(response)), promise: nil)
        if head.method != .HEAD, response.status.mayHaveResponseBody {
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        }
        finish()
    }

    /// Closes the proxy's side of the connection after the answer. The proxy then reads and drops the client's
    /// remaining bytes until the client closes its side, but for at most two seconds. If the proxy closed both sides at
    /// once, TCP could discard the answer.
    private func finish() {
        state = .finished
        gate.discard()
        guard let channel = context?.channel else { return }
        gate.write(ByteBuffer())?.whenComplete { _ in
            channel.close(mode: .output, promise: nil)
            let timer = channel.eventLoop.scheduleTask(in: Self.lingerTimeout) { channel.close(promise: nil) }
            channel.closeFuture.whenComplete { _ in timer.cancel() }
        }
    }
}

// MARK: From the origin

extension ProxyRequestHandler {
    func originSent(_ part: HTTPClientResponsePart) {
        guard case .forwarding(let origin, _) = state, let context else { return }
        switch part {
        case .head(var response):
            hasResponseHead = true
            record(status: Int(response.status.code))
            response.version = head.version == .http1_0 ? .http1_0 : .http1_1
            response.headers = response.headers.withoutHopByHop()
            // The encoder adds this field itself if the answer needs it.
            response.headers.remove(name: "Transfer-Encoding")
            context.write(Self.wrapOutboundOut(.head(response)), promise: nil)
        case .body(let bytes):
            context.write(Self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
        case .end(let trailers):
            // For a `HEAD` request, the encoder would write the end of a body that does not exist.
            if head.method != .HEAD { context.write(Self.wrapOutboundOut(.end(trailers)), promise: nil) }
            finish()
            origin.close(promise: nil)
        }
    }

    func originPaused() { context?.flush() }

    func originEnded() {
        guard case .forwarding = state else { return }
        // If the answer has begun, the close shows the client that the answer is incomplete.
        if hasResponseHead {
            context?.close(promise: nil)
        } else {
            refuse(status: 502, "the target gave no HTTP answer")
        }
    }
}

extension HTTPResponseStatus {
    fileprivate var mayHaveResponseBody: Bool { code >= 200 && self != .noContent && self != .notModified }
}

extension TestProxy.Options {
    fileprivate var challenge: String {
        let quoted = realm.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "Basic realm=\"\(String(quoted))\""
    }
}
