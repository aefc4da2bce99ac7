import Foundation
package import NIOCore
package import PusherProtocol
import RealtimeNetworking
package import WebSocketClient

/// A transport that carries the protocol's messages over a WebSocket.
package struct WebSocketTransport: Transport {
    private let connector: WebSocketConnector
    var options: WebSocketOptions { connector.options }

    package init(_ connector: WebSocketConnector) { self.connector = connector }

    /// - Parameter dialer: Makes the connections. The client's HTTP requests use the same dialer.
    init(_ options: PusherClientOptions, dialer: Dialer) {
        var webSocket = WebSocketOptions()
        webSocket.closeTimeout = options.timeouts.clamped.closing
        webSocket.maximumMessageSize = options.limits.messageSize
        webSocket.sendBufferSize = options.limits.sendBufferSize
        self.init(WebSocketConnector(webSocket, dialer: dialer))
    }

    package func open(
        _ request: TransportRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        connector.connect(to: WebSocketRequest(request), on: eventLoop) { event in forward(event, to: receive) }
    }

    /// Opens a WebSocket over a connected channel, for tests without a socket.
    package func open(
        _ request: TransportRequest,
        over channel: any Channel,
        receive: @escaping @Sendable (TransportEvent) -> Void
    ) -> any TransportConnection {
        connector.connect(to: WebSocketRequest(request), over: channel) { event in forward(event, to: receive) }
    }
}

extension WebSocketRequest {
    init(_ request: TransportRequest) {
        self.init(
            host: request.host,
            port: request.port,
            useTLS: request.useTLS,
            path: request.path,
            subprotocols: request.subprotocol.map { [$0] } ?? [],
            headers: HTTPHeaderFields(request.headers.map { HTTPHeader(name: $0.name, value: $0.value) })
        )
    }
}

/// The longest `Retry-After` that the client obeys, in seconds. A server must not stop its clients for hours.
private let longestRetryAfter = 60

private func forward(_ event: WebSocketEvent, to receive: (TransportEvent) -> Void) {
    switch event {
    case .refused(let response):
        let field = response.header("Retry-After")
        receive(.retryAfter(RetryAfter.delay(field, now: Date(), maximum: longestRetryAfter)))
    case .text(let bytes): receive(.text(bytes))
    case .readComplete: receive(.readComplete)
    case .opened: receive(.opened)
    case .binary(let bytes): receive(.binary(bytes))
    case .pong, .activity: receive(.activity)
    case .closed(let closure): receive(.closed(TransportClosure(closure)))
    }
}

extension TransportClosure {
    fileprivate init(_ closure: WebSocketClosure) {
        self.init(
            code: closure.code.map { CloseCode(rawValue: $0.rawValue) },
            reason: closure.reason,
            error: closure.error.map { PusherClientError($0) }
        )
    }
}

extension WebSocketConnection: TransportConnection {
    package func close(code: CloseCode, reason: String) {
        close(code: WebSocketCloseCode(rawValue: code.rawValue), reason: reason)
    }
}

extension PusherClientError {
    /// Converts an error. The codes of both types have equal names.
    init(_ error: WebSocketError) {
        self.init(Code(rawValue: error.code.rawValue), error.message, cause: error.cause)
    }

    init(_ error: NetworkError) {
        self.init(Code(rawValue: error.code.rawValue), error.message, cause: error.cause)
    }
}
