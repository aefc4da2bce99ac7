import NIOConcurrencyHelpers
import NIOCore
import RealtimeHTTP
import RealtimeNetworking
import RealtimePrimitives
import SignalRCore
import WebSocketClient

/// A transport over a WebSocket. NIO's channel buffers the messages to send.
final class WebSocketTransport: HubTransport {
    private let connection: WebSocketConnection
    private let isBinary: Bool

    private init(_ connection: WebSocketConnection, isBinary: Bool) {
        self.connection = connection
        self.isBinary = isBinary
    }

    static func open(
        _ url: String,
        headers: [String: String],
        connector: WebSocketConnector,
        isBinary: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> WebSocketTransport {
        let retryAfter = NIOLockedValueBox(Duration.zero)
        do {
            let request = try WebSocketRequest(
                url: url,
                headers: HTTPHeaderFields(
                    headers.sorted { $0.key < $1.key }.map { HTTPHeader(name: $0.key, value: $0.value) }
                )
            )
            return try await open(connector.options, isBinary: isBinary, on: eventLoop, receive: receive) {
                events in
                connector.connect(to: request, on: eventLoop) { event in
                    if case .refused(let response) = event {
                        // As the other clients do, the client waits for up to a day.
                        let delay = RetryAfter.delay(response.header("Retry-After"), now: Date(), maximum: 86_400)
                        retryAfter.withLockedValue { $0 = delay }
                    }
                    events(event)
                }
            }
        } catch let error as WebSocketError {
            let code: SignalRClientError.Code =
                switch error.code {
                case .pinMismatch: .pinMismatch
                case .tlsFailed: .tlsFailed
                default: .connectionFailed
                }
            var failure = SignalRClientError(
                code,
                "WebSocket to \(HTTPRequest.printable(url: url)) not opened. \(error.message)",
                httpStatus: error.httpStatus,
                closeCode: error.closeCode?.rawValue,
                address: HTTPRequest.printable(url: url),
                cause: error
            )
            failure.retryAfter = retryAfter.withLockedValue { $0 }
            throw failure
        }
    }

    private static func open(
        _ options: WebSocketOptions,
        isBinary: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver,
        connect: @Sendable (@escaping @Sendable (WebSocketEvent) -> Void) -> WebSocketConnection
    ) async throws -> WebSocketTransport {
        let (timeout, limit) = (options.connectTimeout, options.maximumMessageSize)
        let opened = eventLoop.makePromise(of: Void.self)
        let isOpen = NIOLockedValueBox(false)
        let connection = connect { event in
            switch event {
            case .opened:
                isOpen.withLockedValue { $0 = true }
                opened.succeed()
            case .text(let bytes): receive(.bytes(bytes.withUnsafeBufferPointer { Array($0) }))
            case .binary(let bytes): receive(.bytes(Array(bytes.readableBytesView)))
            case .refused, .pong, .activity, .readComplete: break
            case .closed(let closure):
                opened.fail(
                    closure.error ?? WebSocketError(.connectionClosed, "Connection lost: the server closed it.")
                )
                // A failed attempt does not report `.closed`, because there was no transport.
                if isOpen.withLockedValue({ $0 }) { receive(.closed(HubFailure(closure, limit: limit))) }
            }
        }
        let timer = eventLoop.scheduleTask(in: TimeAmount(clamping: timeout)) {
            // The opening task may be about to continue with the open transport.
            if isOpen.withLockedValue({ $0 }) { return }
            connection.abort()
            opened.fail(
                WebSocketError(
                    .connectionTimedOut,
                    "Connection timed out: there was no connection within \(timeout.inWords)."
                )
            )
        }
        defer { timer.cancel() }
        try await withCancellationHandler {
            try await opened.futureResult.get()
        } onCancel: {
            eventLoop.execute {
                connection.abort()
                opened.fail(CancellationError())
            }
        }
        return WebSocketTransport(connection, isBinary: isBinary)
    }

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) {
        if isBinary {
            connection.sendBinary(ByteBuffer(bytes: bytes), promise: promise)
        } else {
            connection.send(String(decoding: bytes, as: UTF8.self), promise: promise)
        }
    }

    func flush() { connection.flush() }

    func close() { connection.close(code: .normalClosure, reason: "") }

    func abort() { connection.abort() }
}

extension HubFailure {
    /// Creates the failure, or `nil` if the server closed the connection properly.
    ///
    /// - Parameter limit: The limit for the size of a WebSocket message.
    fileprivate init?(_ closure: WebSocketClosure, limit: Int) {
        if closure.error == nil, closure.code == .normalClosure { return nil }
        if closure.error?.code == .messageTooBig {
            self = .client(.deliveryTooLarge(limit: limit))
            return
        }
        let message: String
        if let error = closure.error {
            message = error.message
        } else if let code = closure.code {
            message = "Connection lost: the server closed the WebSocket with code \(code) (\(closure.reason))."
        } else {
            message = "Connection lost: the server sent no close frame."
        }
        self = .client(
            SignalRClientError(
                .transportClosed,
                message,
                closeCode: closure.code?.rawValue,
                address: closure.error?.address,
                cause: closure.error
            )
        )
    }
}
