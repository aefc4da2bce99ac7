import NIOConcurrencyHelpers
import NIOCore
import SignalRClient
import SignalRCore

/// Opens transports that lead to a hub in the same process.
struct InMemoryOpener: HubTransportOpener {
    private let server: SignalRTestServer

    init(_ server: SignalRTestServer) { self.server = server }

    func open(
        wantsResumption: Bool,
        on eventLoop: any EventLoop,
        receive: @escaping OpenedTransport.Receiver
    ) async throws -> OpenedTransport {
        let transport = InMemoryTransport(server, on: eventLoop, receive: receive)
        let (id, token, options) = try await transport.connect(mayResume: wantsResumption)
        var info = TransportInfo(
            connectionID: id,
            transport: .webSockets,
            canBeResumed: wantsResumption && options.allowsStatefulReconnect
        )
        info.tokenLifetime = options.tokenLifetime
        info.canBeRefreshed = info.tokenLifetime != nil
        return OpenedTransport(transport, info) { [server] receive in
            let transport = InMemoryTransport(server, on: eventLoop, receive: receive)
            try await transport.reconnect(token)
            return transport
        } refresh: { [server, info] in
            try await Self.refresh(token, of: server)
            return info.tokenLifetime
        }
    }

    /// Refreshes the authentication, which has no token in memory.
    private static func refresh(_ token: String, of server: SignalRTestServer) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            server.enter { brain in
                guard let connection = brain.connections[token] else {
                    return continuation.resume(throwing: AuthenticationRefresh.refusal(status: 404, body: []))
                }
                brain.authenticate(connection, lifetime: brain.options.tokenLifetime)
                continuation.resume()
            } closed: {
                continuation.resume(throwing: InMemoryTransport.shutdownError)
            }
        }
    }
}

/// The client's end of a link in memory. Bytes move between the event loops of client and server.
private final class InMemoryTransport: HubTransport {
    private let server: SignalRTestServer
    private let eventLoop: any EventLoop
    private let state: NIOLockedValueBox<State>

    // A bare function in a generic box would get another wrapper at each read.
    private struct State: Sendable {
        var receive: OpenedTransport.Receiver?
        var token: String?
        var link: NIOLoopBound<InMemoryLink>?
    }

    init(_ server: SignalRTestServer, on eventLoop: any EventLoop, receive: @escaping OpenedTransport.Receiver) {
        self.server = server
        self.eventLoop = eventLoop
        state = NIOLockedValueBox(State(receive: receive))
    }

    func connect(mayResume: Bool) async throws -> (id: String, token: String, options: TestHubOptions) {
        try await withCheckedThrowingContinuation { continuation in
            server.enter { [self] brain in
                let connection = brain.makeConnection(
                    headers: [:],
                    mayResume: mayResume && brain.options.allowsStatefulReconnect
                )
                attach(to: connection, of: brain)
                continuation.resume(returning: (connection.id, connection.token, brain.options))
            } closed: {
                continuation.resume(throwing: Self.shutdownError)
            }
        }
    }

    func reconnect(_ token: String) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            server.enter { [self] brain in
                guard let connection = brain.connections[token] else {
                    return continuation.resume(throwing: SignalRError.unexpectedResponseCode(404))
                }
                attach(to: connection, of: brain)
                continuation.resume()
            } closed: {
                continuation.resume(throwing: Self.shutdownError)
            }
        }
    }

    static let shutdownError = SignalRClientError(
        .connectionFailed,
        "Connection failed: the test server was shut down."
    )

    private func attach(to connection: ServerConnection, of brain: HubBrain) {
        let link = InMemoryLink { [weak self] event in self?.report(event) }
        let bound = NIOLoopBound(link, eventLoop: brain.eventLoop)
        state.withLockedValue { state in (state.token, state.link) = (connection.token, bound) }
        brain.attach(link, to: connection)
    }

    private func report(_ event: HubTransportEvent) {
        if case .closed = event { detach() }
        eventLoop.execute { [self] in
            let receive = state.withLockedValue { state in
                defer { if case .closed = event { state.receive = nil } }
                return state.receive
            }
            receive?(event)
        }
    }

    func send(_ bytes: [UInt8], promise: EventLoopPromise<Void>?) {
        let (token, link) = ends
        server.enter { brain in
            guard link?.value.isOpen == true, let connection = token.flatMap({ brain.connections[$0] }) else { return }
            brain.received(bytes, from: connection)
        }
        promise?.succeed()
    }

    func close() {
        // If the server is silent, it does not close its side.
        server.enter { [self] brain in
            if brain.isSilent(ends.token.flatMap { brain.connections[$0] }) { return }
            detach(isClean: true)
            report(.closed(nil))
        }
    }

    func abort() {
        state.withLockedValue { $0.receive = nil }
        detach()
    }

    private var ends: (token: String?, link: NIOLoopBound<InMemoryLink>?) {
        state.withLockedValue { ($0.token, $0.link) }
    }

    /// - Parameter isClean: Whether the client closes the connection properly, so that it does not come back.
    private func detach(isClean: Bool = false) {
        let (token, link) = ends
        server.enter { brain in
            guard let link, let connection = token.flatMap({ brain.connections[$0] }) else { return }
            brain.detach(link.value, from: connection, isClean: isClean)
        }
    }
}

/// The server's end of a link in memory.
private final class InMemoryLink: ServerLink {
    private let report: @Sendable (HubTransportEvent) -> Void
    /// Whether the link still delivers the client's messages.
    private(set) var isOpen = true

    init(_ report: @escaping @Sendable (HubTransportEvent) -> Void) { self.report = report }

    let transport = HttpTransportType.webSockets

    func write(_ bytes: [UInt8], isBinary: Bool, pieceSize: Int?) {
        for piece in bytes.pieces(of: pieceSize) { report(.bytes(Array(piece))) }
    }

    func close() { end(nil) }
    func drop() { end(.client(SignalRClientError(.transportClosed, "The link was dropped."))) }

    private func end(_ failure: HubFailure?) {
        isOpen = false
        report(.closed(failure))
    }
}
