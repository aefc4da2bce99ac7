import NIOConcurrencyHelpers
import NIOCore
package import NIOHTTP1
import NIOPosix
package import NIOSSL
import TestSupport

/// A request that the server received.
package struct ReceivedRequest: Equatable, Sendable {
    package var method: String
    package var uri: String
    package var headers: HTTPHeaders
    package var body: String
}

/// The server's reaction to a request.
package enum HTTPReply: Sendable {
    case answer(Int, [String: String] = [:], String = "")
    case chunks([String])
    /// The server sends bytes until the client stops reading.
    case endless(status: Int)
    case nothing
    /// The server sends the status and headers, but no body.
    case headOnly
    /// The server sends fewer bytes than announced, and closes the connection.
    case tooShort
    case closing

    package static func redirect(_ status: Int, _ location: String) -> HTTPReply {
        .answer(status, ["Location": location])
    }
}

/// An HTTP server on loopback that sends the answers of the test.
package final class HTTPTestServer: Sendable {
    package typealias Answer = @Sendable (ReceivedRequest) -> HTTPReply

    package let port: Int
    private let log: Log<ReceivedRequest>
    private let acceptances: Log<Void>
    private let arrivals: AsyncStream<ReceivedRequest>
    private let endings: AsyncStream<Void>
    private let silences: AsyncStream<Void>

    /// The server's URL, with the IP address of loopback as the host.
    package var url: String { "http://127.0.0.1:\(port)" }
    package var requests: [ReceivedRequest] { log.elements }
    /// The number of accepted connections.
    package var connectionCount: Int { acceptances.elements.count }

    private init(
        port: Int,
        log: Log<ReceivedRequest>,
        acceptances: Log<Void>,
        arrivals: AsyncStream<ReceivedRequest>,
        endings: AsyncStream<Void>,
        silences: AsyncStream<Void>
    ) {
        self.port = port
        self.log = log
        self.acceptances = acceptances
        self.arrivals = arrivals
        self.endings = endings
        self.silences = silences
    }

    /// Runs a server while `body` runs.
    ///
    /// - Parameters:
    ///   - laterTLS: The context for all connections except the first. Default: `tls`.
    ///   - silentConnections: The number of connections, from the first on, that the server accepts but never answers.
    package static func serving<Result>(
        tls: NIOSSLContext? = nil,
        laterTLS: NIOSSLContext? = nil,
        silentConnections: Int = 0,
        _ answer: @escaping Answer,
        _ body: (HTTPTestServer) async throws -> Result
    ) async throws -> Result {
        let log = Log<ReceivedRequest>()
        let acceptances = Log<Void>()
        let (arrivals, arrival) = AsyncStream.makeStream(of: ReceivedRequest.self)
        let (endings, ending) = AsyncStream.makeStream(of: Void.self)
        let (silences, silence) = AsyncStream.makeStream(of: Void.self)
        let silent = Log<any Channel>()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                let isFirst = acceptances.count == 0
                acceptances.append(())
                if silent.elements.count < silentConnections {
                    silent.append(channel)
                    silence.yield()
                    return channel.eventLoop.makeSucceededVoidFuture()
                }
                return channel.eventLoop.makeCompletedFuture {
                    if let tls = isFirst ? tls : laterTLS ?? tls {
                        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                    }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        AnsweringHandler { request in
                            log.append(request)
                            arrival.yield(request)
                            return answer(request)
                        }
                    )
                    channel.closeFuture.whenComplete { _ in ending.yield() }
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = HTTPTestServer(
            port: listener.localAddress?.port ?? 0,
            log: log,
            acceptances: acceptances,
            arrivals: arrivals,
            endings: endings,
            silences: silences
        )
        let result: Swift.Result<Result, any Error>
        do {
            result = .success(try await body(server))
        } catch {
            result = .failure(error)
        }
        for channel in silent.elements { channel.close(promise: nil) }
        try await listener.close()
        return try result.get()
    }

    /// Waits for the next request. Only one task of a test can call this method.
    package func nextRequest() async -> ReceivedRequest? {
        await arrivals.first { _ in true }
    }

    /// Waits for a connection that the server does not answer.
    package func nextSilentConnection() async {
        await silences.first { _ in true }
    }

    /// Waits until a connection is closed. Connections without answers do not count.
    package func nextEnd() async {
        await endings.first { _ in true }
    }
}

private final class AnsweringHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let answer: HTTPTestServer.Answer
    private var head: HTTPRequestHead?
    private var body = ByteBuffer()

    init(_ answer: @escaping HTTPTestServer.Answer) { self.answer = answer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            self.head = head
            body.clear()
        case .body(let bytes):
            body.writeImmutableBuffer(bytes)
        case .end:
            guard let head else { return }
            let request = ReceivedRequest(
                method: head.method.rawValue,
                uri: head.uri,
                headers: head.headers,
                body: String(buffer: body)
            )
            reply(answer(request), context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func reply(_ reply: HTTPReply, _ context: ChannelHandlerContext) {
        switch reply {
        case .answer(let status, let headers, let body):
            var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
            fields.add(name: "Content-Length", value: "\(body.utf8.count)")
            write(context, status, fields)
            write(context, body: body)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .chunks(let chunks):
            write(context, 200, ["Transfer-Encoding": "chunked"])
            for chunk in chunks { write(context, body: chunk) }
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        case .endless(let status):
            write(context, status, ["Transfer-Encoding": "chunked"])
            writeOn(context)
        case .nothing: break
        case .headOnly:
            write(context, 200, ["Content-Length": "10"])
            context.flush()
        case .tooShort:
            write(context, 200, ["Content-Length": "10"])
            write(context, body: "{}")
            context.flush()
            context.close(promise: nil)
        case .closing: context.close(promise: nil)
        }
    }

    private func write(_ context: ChannelHandlerContext, _ status: Int, _ headers: HTTPHeaders) {
        let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: status), headers: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
    }

    private func write(_ context: ChannelHandlerContext, body: String) {
        context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
    }

    private func writeOn(_ context: ChannelHandlerContext) {
        let bytes = ByteBuffer(repeating: UInt8(ascii: "x"), count: 4_096)
        let context = NIOLoopBound(context, eventLoop: context.eventLoop)
        let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
        let eventLoop = context.value.eventLoop
        context.value.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(bytes)))).whenSuccess {
            // The next write is a separate task. If writes succeed at once, direct calls would recurse until the stack
            // overflows.
            eventLoop.execute { handler.value.writeOn(context.value) }
        }
    }
}
