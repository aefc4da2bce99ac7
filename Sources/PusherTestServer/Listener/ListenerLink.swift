import NIOConcurrencyHelpers
import NIOCore
import RealtimeTestHTTP

/// A WebSocket on a TCP socket, or the request for a WebSocket.
final class ListenerLink: ServerLink {
    private let exchange: HTTPTestExchange
    private let engine: ServerEngine
    private let options: PusherTestServer.Options
    private let state = NIOLockedValueBox(State())

    private struct State {
        var id: ConnectionID?
        var socket: HTTPTestSocket?
    }

    init(_ exchange: HTTPTestExchange, engine: ServerEngine, options: PusherTestServer.Options) {
        self.exchange = exchange
        self.engine = engine
        self.options = options
    }

    func assign(_ id: ConnectionID) {
        state.withLockedValue { $0.id = id }
        exchange.channel.closeFuture.whenComplete { _ in self.engine.connectionEnded(id) }
    }

    private func received(_ event: HTTPTestSocket.Event) {
        guard let id = state.withLockedValue({ $0.id }) else { return }
        engine.received(ClientMessage(event), on: id)
    }

    private var socket: HTTPTestSocket? { state.withLockedValue { $0.socket } }

    // MARK: ServerLink

    func accept(subprotocol: String?) {
        let fields = subprotocol.map { [HTTPTestField(name: "Sec-WebSocket-Protocol", value: $0)] }
        let rules = HTTPTestSocket.Rules(maximumMessageSize: options.maximumMessageSize)
        let socket = exchange.accept(fields: fields ?? [], rules: rules) { self.received($0) }
        state.withLockedValue { $0.socket = socket }
    }

    func refuse(status: Int, body: String) { exchange.respond(RESTResponse(status: status, body: body).http) }

    func send(_ frame: OutgoingFrame) {
        guard let socket else { return }
        if socket.hasUnsentBytes(beyond: options.maximumQueueSize) { return socket.drop() }
        switch frame {
        case .text(let text): socket.send(.text, text.utf8)
        case .binary(let bytes): socket.send(.binary, bytes)
        case .ping(let payload): socket.send(.ping, payload)
        case .pong(let payload): socket.send(.pong, payload)
        case .rawBytes(let bytes): socket.sendBytes(bytes)
        case .close(let code, let reason): socket.sendClose(code: code, reason: reason)
        }
    }

    func flush() { socket?.flush() }

    func end() { if let socket { socket.end() } else { exchange.drop() } }
}

extension ClientMessage {
    fileprivate init(_ event: HTTPTestSocket.Event) {
        self =
            switch event {
            case .message(true, let bytes): .text(String(decoding: bytes, as: UTF8.self))
            case .message(false, let bytes): .binary(bytes)
            case .ping(let bytes): .ping(bytes)
            case .pong(let bytes): .pong(bytes)
            case .close(let code, let reason): .close(code: code, reason: reason)
            case .violation(let code, let reason): .violation(code: code, reason: reason)
            }
    }
}
