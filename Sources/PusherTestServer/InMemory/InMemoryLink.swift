import NIOConcurrencyHelpers
import NIOCore
import RealtimeTestHTTP

/// A client's connection to an ``InMemoryServer``, in place of a WebSocket.
///
/// You can call the methods on any thread. The methods return at once, and act on the server's event loop. The methods
/// do nothing after the link has ended.
package final class InMemoryLink: Sendable {
    /// An event for a client, on its event loop. No event follows `unreachable`, `refused`, `closed`, `dropped` or a
    /// call of ``InMemoryLink/abort()``.
    package enum Event: Hashable, Sendable {
        /// The upgrade succeeded. The value is the subprotocol in the answer.
        case opened(subprotocol: String?)
        case text(String)
        case binary([UInt8])
        case ping([UInt8])
        case pong([UInt8])
        /// Bytes that are not a WebSocket frame. The client must fail the connection, as RFC 6455 demands.
        case rawBytes([UInt8])

        /// The server seems not to listen.
        case unreachable
        /// The server answered the upgrade with this HTTP status.
        case refused(status: Int)
        /// The server's close frame, either first or as an answer. The link has already answered the close frame.
        case closed(code: Int?, reason: String)
        /// The TCP connection was closed without a close frame.
        case dropped
    }

    private let server: InMemoryServer
    private let clientLoop: any EventLoop
    private let receive: @Sendable (Event) -> Void
    private let state = NIOLockedValueBox(State())

    private struct State {
        var connection: ConnectionID?
        var isBlackHole = false
        /// Whether the client has closed its side. Afterwards, the client gets nothing.
        var hasClientEnded = false
        /// Whether the server has closed its side. Afterwards, the server gets nothing.
        var hasServerEnded = false
        var toClient = Direction<Event>()
        var toServer = Direction<Input>()
    }

    private enum Input: Sendable {
        case request(PusherTestServer.Request)
        case message(ClientMessage)
        case end
    }

    init(server: InMemoryServer, clientLoop: any EventLoop, receive: @escaping @Sendable (Event) -> Void) {
        self.server = server
        self.clientLoop = clientLoop
        self.receive = receive
    }

    // MARK: What the client does

    package func send(_ text: String) { toServer(.message(.text(text))) }
    package func sendBinary(_ bytes: [UInt8]) { toServer(.message(.binary(bytes))) }
    package func sendPing(_ payload: [UInt8] = []) { toServer(.message(.ping(payload))) }
    package func sendPong(_ payload: [UInt8] = []) { toServer(.message(.pong(payload))) }

    /// Sends a close frame. ``Event/closed(code:reason:)`` follows when the server has answered.
    package func close(code: Int?, reason: String = "") { toServer(.message(.close(code: code, reason: reason))) }

    /// Closes the TCP connection. The client gets no more events.
    package func abort() {
        state.withLockedValue { $0.hasClientEnded = true }
        toServer(.end)
        server.remove(self)
    }

    // MARK: What the network does

    /// Cuts the TCP connection for both sides.
    package func cut() {
        toClient(.dropped)
        toServer(.end)
    }

    /// Starts or stops dropping everything, in both directions.
    package func setBlackHole(_ isBlackHole: Bool) {
        state.withLockedValue { $0.isBlackHole = isBlackHole }
    }

    func start(
        _ request: PusherTestServer.Request,
        fault: InMemoryServer.LinkFault?,
        upgradeFault: PusherTestRelay.UpgradeFault?
    ) {
        switch (fault, upgradeFault) {
        case (nil, nil): toServer(.request(request))
        case (.unreachable, _): toClient(.unreachable)
        case (.blackHole, _), (nil, .swallowed): setBlackHole(true)
        case (nil, .answered(let status)): toClient(.refused(status: status))
        case (nil, .reset): toClient(.dropped)
        }
    }

    private func toClient(_ event: Event) {
        let id = state.withLockedValue { state in state.isBlackHole ? nil : state.toClient.append(event) }
        guard let id else { return }
        server.afterLatency(on: clientLoop) { self.deliverToClient(id) }
    }

    private func toServer(_ input: Input) {
        let id = state.withLockedValue { state in state.isBlackHole ? nil : state.toServer.append(input) }
        guard let id else { return }
        server.afterLatency(on: server.engine.eventLoop) { self.deliverToServer(id) }
    }

    // MARK: Deliveries

    private func deliverToClient(_ id: Int) {
        let events = state.withLockedValue { $0.toClient.queue.markDue(id) }
        for event in events {
            let isWanted = state.withLockedValue { state in
                defer { if event.isLast { state.hasClientEnded = true } }
                return !state.hasClientEnded
            }
            guard isWanted else { return }
            if case .closed(let code, let reason) = event { close(code: code, reason: reason) }
            receive(event)
            if event.isLast, case .closed = event { continue }
            if event.isLast { server.remove(self) }
        }
    }

    private func deliverToServer(_ id: Int) {
        let inputs = state.withLockedValue { $0.toServer.queue.markDue(id) }
        for input in inputs { deliver(input) }
    }

    private func deliver(_ input: Input) {
        let (connection, hasEnded) = state.withLockedValue { ($0.connection, $0.hasServerEnded) }
        guard !hasEnded else { return }
        switch input {
        case .request(let request):
            if let response = server.crossOriginPolicy.refusal(of: request.http) {
                server.engine.note(request, answeredWith: response.status)
                return refuse(status: response.status, body: RESTResponse(response).body)
            }
            server.engine.connectionRequested(request, link: self) { id in
                self.state.withLockedValue { $0.connection = id }
            }
        case .message(let message):
            if let connection { server.engine.received(message, on: connection) }
        case .end:
            endServerSide()
        }
    }

    private func endServerSide() {
        let connection = state.withLockedValue { state -> ConnectionID? in
            guard !state.hasServerEnded else { return nil }
            state.hasServerEnded = true
            return state.connection
        }
        if let connection { server.engine.connectionEnded(connection) }
        server.remove(self)
    }
}

extension InMemoryLink: ServerLink {
    package func accept(subprotocol: String?) { toClient(.opened(subprotocol: subprotocol)) }

    package func refuse(status: Int, body: String) {
        toClient(.refused(status: status))
        // The server closes the connection after its answer, as on a socket.
        server.engine.eventLoop.execute { self.endServerSide() }
    }

    package func send(_ frame: OutgoingFrame) {
        switch frame {
        case .text(let text): toClient(.text(text))
        case .binary(let bytes): toClient(.binary(bytes))
        case .ping(let payload): toClient(.ping(payload))
        case .pong(let payload): toClient(.pong(payload))
        case .rawBytes(let bytes): toClient(.rawBytes(bytes))
        case .close(let code, let reason): toClient(.closed(code: code, reason: reason))
        }
    }

    package func end() {
        toClient(.dropped)
        server.engine.eventLoop.execute { self.endServerSide() }
    }

    package func flush() {}
}

extension InMemoryLink.Event {
    /// Whether this is the last event of the link.
    package var isLast: Bool {
        switch self {
        case .unreachable, .refused, .closed, .dropped: true
        case .opened, .text, .binary, .ping, .pong, .rawBytes: false
        }
    }
}
