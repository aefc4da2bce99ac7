import NIOCore
import RealtimeTestHTTP
import SignalRClient

/// A link over a WebSocket.
final class WebSocketLink: ServerLink {
    private let socket: HTTPTestSocket
    /// The limit for waiting bytes.
    private let limit: Int
    private(set) var isClosing = false

    let transport = HttpTransportType.webSockets

    /// The time that a client has to answer a close frame.
    private static let closeTimeout = TimeAmount.seconds(5)

    init(_ socket: HTTPTestSocket, limit: Int) {
        self.socket = socket
        self.limit = limit
    }

    func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?) {
        if isClosing { return }
        if socket.hasUnsentBytes(beyond: limit) { return drop() }
        let pieces = bytes.pieces(of: pieceSize)
        for (index, piece) in pieces.enumerated() {
            let opcode: HTTPTestSocket.Opcode = index > 0 ? .continuation : isBinary ? .binary : .text
            socket.send(opcode, piece, isFinal: index == pieces.count - 1)
            // Otherwise, the pieces would reach the client at once.
            if pieceSize != nil { socket.flush() }
        }
        socket.flush()
    }

    func pong(_ payload: [UInt8]) {
        if isClosing { return }
        if socket.hasUnsentBytes(beyond: limit) { return drop() }
        socket.send(.pong, payload)
        socket.flush()
    }

    func close() { close(code: 1000) }

    func close(code: Int) {
        if isClosing { return }
        isClosing = true
        socket.sendClose(code: code)
        socket.flush()
        let socket = socket
        let timer = socket.channel.eventLoop.scheduleTask(in: Self.closeTimeout) { socket.drop() }
        socket.channel.closeFuture.whenComplete { _ in timer.cancel() }
    }

    /// Handles the client's close frame, which answers the server's or gets an answer.
    func closed(code: Int?) {
        if !isClosing {
            isClosing = true
            socket.sendClose(code: code ?? 1000)
        }
        socket.end()
    }

    func drop() { socket.drop() }
}

/// A link that answers polls with the waiting messages.
final class PollLink: ServerLink {
    enum Event {
        /// A poll waits for messages.
        case polled
        /// No poll waits anymore.
        case unpolled
        /// The link has told the client the end (status 204), or was dropped.
        case ended
    }

    private let limit: Int
    private let eventLoop: any EventLoop
    private let report: @Sendable (Event) -> Void
    /// The poll that waits for messages.
    private var waiting: HTTPTestExchange?
    private var bytes: [UInt8] = []
    private var pieceSize: Int?
    private var isEnded = false
    private var isDropped = false

    let transport = HttpTransportType.longPolling

    private static let fields = [
        HTTPTestField(name: "Content-Type", value: "application/octet-stream"),
        HTTPTestField(name: "Cache-Control", value: "no-cache, no-store"),
    ]

    /// - Parameters:
    ///   - limit: The maximum number of waiting bytes.
    ///   - report: A closure that gets what happens to the link.
    init(limit: Int, on eventLoop: any EventLoop, report: @escaping @Sendable (Event) -> Void) {
        self.limit = limit
        self.eventLoop = eventLoop
        self.report = report
    }

    func poll(_ exchange: HTTPTestExchange) {
        if isDropped { return exchange.drop() }
        respond(204)
        let link = NIOLoopBound(self, eventLoop: eventLoop)
        waiting = exchange
        report(.polled)
        // If the client cuts the poll, the messages wait for the next one.
        exchange.whenEnded { link.value.cut(exchange) }
        flush()
    }

    /// Answers the poll although there are no messages.
    func timedOut() { respond(200) }

    private func cut(_ exchange: HTTPTestExchange) {
        guard waiting === exchange else { return }
        waiting = nil
        if !isDropped { report(.unpolled) }
    }

    private func respond(_ status: Int, _ body: [UInt8] = []) {
        guard let exchange = waiting else { return }
        waiting = nil
        if pieceSize == nil || body.isEmpty {
            exchange.respond(HTTPTestResponse(status: status, fields: Self.fields, body: body))
        } else {
            let length = HTTPTestField(name: "Content-Length", value: "\(body.count)")
            exchange.begin(status: status, fields: Self.fields + [length], framing: .counted)
            for piece in body.pieces(of: pieceSize) {
                exchange.write(ByteBuffer(bytes: piece))
                exchange.flush()
            }
            exchange.end()
        }
        report(.unpolled)
    }

    private func flush() {
        guard waiting != nil else { return }
        if !bytes.isEmpty {
            let body = bytes
            bytes = []
            respond(200, body)
        } else if isEnded {
            respond(204)
            report(.ended)
        }
    }

    func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?) {
        if isDropped || isEnded { return }
        if self.bytes.count > limit { return drop() }
        self.bytes += bytes
        self.pieceSize = pieceSize
        flush()
    }

    func close() {
        isEnded = true
        flush()
    }

    func drop() {
        isDropped = true
        waiting?.drop()
        waiting = nil
        report(.ended)
    }
}

/// A link that sends events.
final class EventLink: ServerLink {
    private let exchange: HTTPTestExchange
    private let limit: Int
    private var isEnded = false

    let transport = HttpTransportType.serverSentEvents

    /// - Parameter limit: The maximum number of waiting bytes.
    init(_ exchange: HTTPTestExchange, limit: Int) {
        self.exchange = exchange
        self.limit = limit
    }

    func begin() {
        exchange.begin(fields: [
            HTTPTestField(name: "Content-Type", value: "text/event-stream"),
            HTTPTestField(name: "Cache-Control", value: "no-cache, no-store"),
        ])
        exchange.write(ByteBuffer(string: ":\r\n"))
        exchange.flush()
    }

    func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?) {
        if isEnded { return }
        if exchange.channel.hasUnsentBytes(beyond: limit) { return drop() }
        var event: [UInt8] = []
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            event += Array("data: ".utf8)
            event += line
            event += [0x0D, 0x0A]
        }
        event += [0x0D, 0x0A]
        for piece in event.pieces(of: pieceSize) {
            exchange.write(ByteBuffer(bytes: piece))
            exchange.flush()
        }
    }

    func close() {
        if isEnded { return }
        isEnded = true
        exchange.end()
    }

    func drop() { exchange.drop() }
}
