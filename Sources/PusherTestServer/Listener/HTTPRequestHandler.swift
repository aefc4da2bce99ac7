import Foundation
import NIOCore
import NIOHTTP1

/// Collects HTTP requests: an upgrade becomes a connection of the brain's, anything else is a request to be answered.
final class HTTPRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart

    private let options: PusherTestServer.Options
    private let engine: ServerEngine
    private var head: HTTPRequestHead?
    private var body: [UInt8] = []

    init(options: PusherTestServer.Options, engine: ServerEngine) {
        self.options = options
        self.engine = engine
    }

    /// Hands on what came in the same packet as an upgrade request.
    static func makeDecoder() -> HTTPRequestDecoder { HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body = []
            if head.headers.contains(name: "Expect") { context.channel.writeContinue() }
        case .body(let bytes):
            collect(bytes)
        case .end:
            guard let head else { return }
            self.head = nil
            answer(head, on: context.channel)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError else { return context.channel.endTransport() }
        let response = RESTResponse(status: 400, body: "not an HTTP request: \(error)")
        context.channel.write(response, keepAlive: false)
    }

    // What the records keep is made in these two, and nothing else: LeakSanitizer is told of them by name.

    private func collect(_ bytes: ByteBuffer) {
        // One byte over the limit is enough for the brain to see that it was exceeded.
        let room = options.maximumRequestSize - body.count
        if room >= 0 { body += bytes.readableBytesView.prefix(min(room, .max - 1) + 1) }
    }

    private func makeRequest(_ head: HTTPRequestHead) -> PusherTestServer.Request {
        PusherTestServer.Request(
            method: head.method.rawValue,
            target: head.uri,
            headers: head.headers.map { .init(name: $0.name, value: $0.value) },
            body: body
        )
    }

    private func answer(_ head: HTTPRequestHead, on channel: any Channel) {
        let request = makeRequest(head)
        guard head.isWebSocketUpgrade else {
            // After a request that asks for another protocol, be it one that nobody here speaks, NIO reads no other.
            let keepAlive = head.isKeepAlive && !head.headers.contains(name: "Upgrade")
            let hasBody = head.method != .HEAD
            return engine.request(request) { response in
                guard let response else { return channel.endTransport() }
                channel.write(response, keepAlive: keepAlive, hasBody: hasBody)
            }
        }
        // RFC 6455, 4.2.1 and 4.4.
        guard head.headers.first(name: "Sec-WebSocket-Version") == "13" else {
            let version = PusherTestServer.Request.Header(name: "Sec-WebSocket-Version", value: "13")
            let body = "Sec-WebSocket-Version has to be 13"
            return channel.write(RESTResponse(status: 426, headers: [version], body: body), keepAlive: false)
        }
        guard let key = head.headers.first(name: "Sec-WebSocket-Key"), Data(base64Encoded: key)?.count == 16 else {
            let body = "Sec-WebSocket-Key has to be the base64 of 16 bytes"
            return channel.write(RESTResponse(status: 400, body: body), keepAlive: false)
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
}

extension Channel {
    /// Writes an HTTP response. On the event loop only.
    ///
    /// - Parameter hasBody: False for the answer to a `HEAD`, which says of a body only how long it is.
    func write(_ response: RESTResponse, keepAlive: Bool, hasBody: Bool = true) {
        let mayHaveBody = response.status >= 200 && response.status != 204 && response.status != 304
        let isJSON = response.body.utf8.first == UInt8(ascii: "{")
        var head = "HTTP/1.1 \(HTTPResponseStatus(statusCode: max(0, response.status)))\r\n"
        for header in response.headers { head += "\(header.name): \(header.value)\r\n" }
        if response.header("Content-Type") == nil {
            head += "Content-Type: \(isJSON ? "application/json" : "text/plain; charset=utf-8")\r\n"
        }
        if mayHaveBody { head += "Content-Length: \(response.body.utf8.count)\r\n" }
        head += keepAlive ? "\r\n" : "Connection: close\r\n\r\n"
        writeAndFlush(ByteBuffer(string: head + (hasBody && mayHaveBody ? response.body : ""))).whenComplete { _ in
            if !keepAlive { self.endTransport() }
        }
    }

    fileprivate func writeContinue() {
        writeAndFlush(ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n"), promise: nil)
    }
}
