import NIOCore
import NIOHTTP1
import RealtimeNetworking

/// Keeps account of connections.
protocol HTTPConnectionOwner: AnyObject {
    /// A response is complete, and the connection will be free at the end of the current read, or close.
    func settling(_ connection: HTTPConnection)

    /// The connection is free for another request.
    func settled(_ connection: HTTPConnection)

    /// The connection takes no more requests, because it is closed or closing. The owner gets this call once.
    ///
    /// - Parameter wasSettling: Whether ``settled(_:)`` was expected.
    func closed(_ connection: HTTPConnection, wasSettling: Bool)
}

/// An open HTTP/1.1 connection, which serves one request at a time, on one event loop.
///
/// The connection is the last handler in the pipeline of its channel.
final class HTTPConnection {
    enum Event {
        case head(HTTPResponseHead)
        case body(ByteBuffer)
        /// The response is complete.
        case end
        /// The connection was lost before the response was complete.
        case lost((any Error)?)
    }

    private enum State {
        /// The connection waits for a request.
        case idle
        /// The connection has sent a request, and its response is not complete.
        case busy(receive: (Event) -> Void)
        /// The response is complete, but not the read that brought its end. More bytes in this read would be an answer
        /// to no request. A connection with such bytes must not get a request, or they would become a part of its
        /// answer.
        case settling
        case closed
    }

    /// The maximum number of bytes that the decoder reads without giving a head or a piece of a body. It limits a head
    /// with the interim responses before it, the trailers of a body, and the extensions of a chunk.
    private static let maximumHeadSize = 81_920

    let target: Dialer.Target
    /// The proxy that the connection goes through; nil without a proxy.
    let proxy: ProxyServer?
    /// Whether the connection counts toward the limit of the client's connections.
    let isPooled: Bool
    /// The number of ``HTTPConnections/retireConnections()`` calls before the attempt to connect.
    let generation: Int
    /// Whether the connection has served a request, so the server may already be closing it.
    private(set) var isReused = false
    /// The time for which the server keeps the connection without a request, from its `Keep-Alive`; nil if it names none.
    private(set) var serverIdleTime: Duration?

    private let channel: any Channel
    private let owner: any HTTPConnectionOwner
    /// Reads chunks and trailers, and drops responses with a status from 100 to 199, except 101.
    private let decoder = HTTPResponseDecoder()
    private var state = State.idle
    /// Whether both sides keep the connection open after the current response.
    private var isKept = true
    /// Whether the system has taken all bytes of the request.
    private var isWritten = true
    private var isReading = true
    /// The number of bytes in all reads since the last one that brought a head or a piece of a body.
    private var headSize = 0
    private var idleTimer: Scheduled<Void>?

    /// Creates a connection over a connected channel.
    init(
        _ target: Dialer.Target,
        through proxy: ProxyServer?,
        over channel: any Channel,
        isPooled: Bool,
        generation: Int,
        owner: any HTTPConnectionOwner
    ) throws {
        self.target = target
        self.proxy = proxy
        self.channel = channel
        self.isPooled = isPooled
        self.generation = generation
        self.owner = owner
        try channel.pipeline.syncOperations.addHandlers([
            InboundGuard(self),
            HTTPRequestEncoder(),
            ByteToMessageHandler(decoder),
            self,
        ])
    }

    /// Whether the connection can get a request.
    var isUsable: Bool {
        if case .idle = state { channel.isActive } else { false }
    }

    /// Sends a request. The receiver gets the response, and finally `end` or `lost`.
    func send(_ head: HTTPRequestHead, body: ByteBuffer?, receive: @escaping (Event) -> Void) {
        stopTimer()
        state = .busy(receive: receive)
        isWritten = false
        headSize = 0
        // After a CONNECT, the bytes of a connection would not be HTTP.
        isKept = head.isKeepAlive && head.method != .CONNECT
        channel.write(HTTPClientRequestPart.head(head), promise: nil)
        if let body, body.readableBytes > 0 {
            channel.write(HTTPClientRequestPart.body(.byteBuffer(body)), promise: nil)
        }
        channel.writeAndFlush(HTTPClientRequestPart.end(nil)).assumeIsolated().whenSuccess { self.isWritten = true }
    }

    /// Stops or starts reading from the socket.
    func setReading(_ isReading: Bool) {
        guard self.isReading != isReading else { return }
        self.isReading = isReading
        try? channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    /// Closes the connection after a time, unless it gets a request before.
    func closeUnlessUsed(within time: TimeAmount) {
        idleTimer = channel.eventLoop.assumeIsolated().scheduleTask(in: time) {
            // A timer that is due runs in this turn of the loop, even if an earlier task of the turn has cancelled it.
            if case .idle = self.state { self.retire() }
        }
    }

    /// Closes an idle connection, and notifies the server of the end of TLS.
    func retire() {
        // The handler of TLS waits a limited time for the server's answer.
        setReading(true)
        end { $0.close(promise: nil) }
    }

    /// Closes the connection at once. The receiver gets no more events.
    func close() { end { $0.closeAtOnce() } }

    private func end(_ close: (any Channel) -> Void) {
        let former = state
        state = .closed
        stopTimer()
        switch former {
        case .closed: return
        case .settling: owner.closed(self, wasSettling: true)
        case .idle, .busy: owner.closed(self, wasSettling: false)
        }
        close(channel)
    }

    private func stopTimer() {
        idleTimer?.cancel()
        idleTimer = nil
    }

    /// Whether the server may send bytes.
    fileprivate var expectsBytes: Bool {
        switch state {
        case .busy: true
        case .idle, .settling: false
        // The bytes have no effect, and a closing handshake of TLS may still be in progress.
        case .closed: true
        }
    }

    /// Limits the bytes that the decoder reads without giving anything.
    ///
    /// - Parameter decode: Gives the decoder a number of bytes.
    fileprivate func read(_ count: Int, _ decode: () -> Void) {
        headSize += count
        decode()
        if case .busy = state, headSize > Self.maximumHeadSize { lose(HTTPParserError.headerOverflow) }
    }

    /// Whether the decoder has read nothing after the last response. The decoder accepts an end of the connection only
    /// between two responses.
    private func isBetweenResponses(_ context: ChannelHandlerContext) -> Bool {
        var nothing = ByteBuffer()
        return (try? decoder.decodeLast(context: context, buffer: &nothing, seenEOF: true)) != nil
    }

    private func complete(_ receive: (Event) -> Void) {
        isReused = true
        guard isKept, isWritten else {
            // If a part of the request is not sent, a closing handshake would wait for it.
            if isWritten { retire() } else { close() }
            return receive(.end)
        }
        state = .settling
        owner.settling(self)
        receive(.end)
    }

    private func lose(_ error: (any Error)?) {
        if case .busy(let receive) = state {
            // The receiver comes first, so that a request that it repeats comes before all waiting requests.
            state = .idle
            isKept = false
            receive(.lost(error))
        }
        close()
    }
}

extension HTTPConnection: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .busy(let receive) = state else { return }
        headSize = 0
        switch unwrapInboundIn(data) {
        case .head(let head):
            isKept = isKept && head.isKeepAlive && head.status != .switchingProtocols
            serverIdleTime = head.idleTime ?? serverIdleTime
            receive(.head(head))
        case .body(let bytes): receive(.body(bytes))
        case .end: complete(receive)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard case .settling = state else { return }
        guard isBetweenResponses(context) else { return close() }
        state = .idle
        setReading(true)
        owner.settled(self)
    }

    /// Ends the connection after an error. After an error of TLS, the decoder would take the end of the connection for
    /// the end of a body without a length.
    func errorCaught(context: ChannelHandlerContext, error: any Error) { lose(error) }

    func channelInactive(context: ChannelHandlerContext) {
        lose(nil)
        context.fireChannelInactive()
    }
}

extension HTTPResponseHead {
    /// The time in the field `Keep-Alive: timeout=5` (RFC 2068, 19.7.1.1).
    fileprivate var idleTime: Duration? {
        for parameter in headers[canonicalForm: "Keep-Alive"] {
            let parts = parameter.split(separator: "=").map { $0.filter { $0 != " " } }
            guard parts.count == 2, parts[0].lowercased() == "timeout", let seconds = UInt16(parts[1]) else { continue }
            return .seconds(Int(seconds))
        }
        return nil
    }
}

/// Closes a connection that gets bytes without a request, which would become the start of the next response, or too many
/// bytes without a response.
private final class InboundGuard: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private weak var connection: HTTPConnection?

    init(_ connection: HTTPConnection) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let connection, connection.expectsBytes else {
            connection?.close()
            return
        }
        connection.read(unwrapInboundIn(data).readableBytes) { context.fireChannelRead(data) }
    }
}
