import NIOConcurrencyHelpers
import NIOCore
import NIOPosix

/// The state that a relay's connections share: faults, records and sockets. All connections run on one event loop.
final class RelayEngine: Sendable {
    let options: PusherTestRelay.Options
    let eventLoop: any EventLoop
    let changes = ChangeSignal()
    private let state: NIOLockedValueBox<State>

    fileprivate struct State: Sendable {
        var port: Int
        /// The listening channel after the newest change; nil if the relay does not listen. The future never fails.
        var listener: EventLoopFuture<(any Channel)?>
        var toServer = StreamSetting()
        var toClient = StreamSetting()
        var idleLimit: Duration?
        var upgradeFault: PusherTestRelay.UpgradeFault?
        var connectionFaults: [(fault: PusherTestRelay.ConnectionFault, remaining: Int?)] = []
        var log: BoundedLog<PusherTestRelay.Connection>
        /// The open sockets of each connection, to the client and to the server.
        var sockets: [Int: [any Channel]] = [:]
        /// The pending connection attempts to the server. The engine removes an attempt when the attempt has succeeded
        /// or failed.
        var connects: [Int: EventLoopFuture<Void>] = [:]
    }

    /// The fault of one direction, and the number of times that the fault has changed.
    struct StreamSetting: Sendable {
        var fault: PusherTestRelay.StreamFault?
        var changes = 0

        mutating func change(to fault: PusherTestRelay.StreamFault?) {
            self.fault = fault
            changes += 1
        }
    }

    private static let connectTimeout = TimeAmount.seconds(10)

    init(options: PusherTestRelay.Options, eventLoop: any EventLoop) {
        self.options = options
        self.eventLoop = eventLoop
        let listener = eventLoop.makeSucceededFuture((any Channel)?.none)
        let log = BoundedLog<PusherTestRelay.Connection>(limit: options.maximumRecordCount)
        self.state = NIOLockedValueBox(State(port: options.port, listener: listener, log: log))
    }

    var port: Int { state.withLockedValue { $0.port } }

    // MARK: Listening

    func start() -> EventLoopFuture<Void> {
        changeListener { listener in
            if let listener { self.eventLoop.makeSucceededFuture(listener) } else { self.bind() }
        }
    }

    func stopListening() -> EventLoopFuture<Void> {
        changeListener { listener in
            guard let listener else { return self.eventLoop.makeSucceededFuture(nil) }
            return listener.close().recover { _ in }.map { nil }
        }
    }

    func beginShutdown() -> EventLoopFuture<Void> {
        stopListening().flatMap { self.endAll() }
    }

    /// Closes all sockets. Waits for pending connection attempts, because each attempt may open a socket a little
    /// later.
    private func endAll() -> EventLoopFuture<Void> {
        let (sockets, connects) = state.withLockedValue { ($0.sockets.values.flatMap(\.self), $0.connects.values) }
        guard !sockets.isEmpty || !connects.isEmpty else { return eventLoop.makeSucceededVoidFuture() }
        for socket in sockets { socket.close(promise: nil) }
        return EventLoopFuture.andAllComplete(sockets.map(\.closeFuture) + connects, on: eventLoop)
            .flatMap { self.endAll() }
    }

    /// Changes the listening socket after the previous change has finished.
    private func changeListener(
        _ change: @escaping @Sendable ((any Channel)?) -> EventLoopFuture<(any Channel)?>
    ) -> EventLoopFuture<Void> {
        let finished = eventLoop.makePromise(of: (any Channel)?.self)
        let previous = state.withLockedValue { state in
            defer { state.listener = finished.futureResult }
            return state.listener
        }
        let result = previous.flatMap(change)
        result.recover { _ in nil }.cascade(to: finished)
        return result.map { _ in }
    }

    private func bind() -> EventLoopFuture<(any Channel)?> {
        let (host, port) = (options.host, port)
        return ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in channel.eventLoop.makeCompletedFuture { try self.accept(channel) } }
            .bind(host: host, port: port)
            .map { channel in
                self.state.withLockedValue { $0.port = channel.localAddress?.port ?? $0.port }
                return channel
            }
            .flatMapErrorThrowing { error in
                throw PusherTestServer.ServerError(
                    .bindFailed,
                    "Relay not started: it cannot listen on \(host), port \(port). Choose another port, or 0 for any.",
                    cause: error
                )
            }
    }

    // MARK: Connections

    private func accept(_ client: any Channel) throws {
        let (id, fault) = state.withLockedValue { state in
            let fault = state.takeConnectionFault()
            let id = state.log.nextIndex
            state.log.append { PusherTestRelay.Connection(index: $0, fault: fault) }
            return (id, fault)
        }
        keep(client, id)
        let (clientSide, serverSide) = RelayHandler.makePair(id: id, engine: self)
        clientSide.upgradeFilter = state.withLockedValue { $0.upgradeFault }.map { UpgradeFilter($0) }
        clientSide.whenActive = { [weak serverSide] in
            switch fault {
            case .closed?: client.close(promise: nil)
            case .reset?:
                client.willReset()
                client.close(promise: nil)
            case .silent?: client.startReading()
            case nil: if let serverSide { self.connect(client, serverSide, id: id) }
            }
        }
        try client.pipeline.syncOperations.addHandler(clientSide)
    }

    private func connect(_ client: any Channel, _ serverSide: RelayHandler, id: Int) {
        let bound = NIOLoopBound(serverSide, eventLoop: eventLoop)
        let isDecided = eventLoop.makePromise(of: Void.self)
        state.withLockedValue { $0.connects[id] = isDecided.futureResult }
        ClientBootstrap(group: eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelInitializer { channel in
                self.keep(channel, id)
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(bound.value)
                }
            }
            .connect(host: options.serverHost, port: options.serverPort)
            .whenComplete { result in
                self.state.withLockedValue { $0.connects[id] = nil }
                defer { isDecided.succeed() }
                switch result {
                // The relay could not connect to the server. The relay cannot refuse the client's connection anymore,
                // so it closes the client's connection.
                case .failure: client.close(promise: nil)
                case .success(let server):
                    guard client.isActive else { return server.close(promise: nil) }
                    server.startReading()
                    client.startReading()
                }
            }
    }

    private func keep(_ socket: any Channel, _ id: Int) {
        state.withLockedValue { $0.sockets[id, default: []].append(socket) }
        changes.send()
        socket.closeFuture.whenComplete { _ in
            self.state.withLockedValue { state in
                state.sockets[id]?.removeAll { $0 === socket }
                guard state.sockets[id]?.isEmpty == true else { return }
                state.sockets[id] = nil
                state.log.update(id) { $0.isOpen = false }
            }
            self.changes.send()
        }
    }

    func endConnections(byReset: Bool) {
        let sockets = state.withLockedValue { $0.sockets.values.flatMap(\.self) }
        eventLoop.execute {
            // Prepare all sockets before closing the first socket, because closing one side of a connection also closes
            // the other side.
            if byReset { for socket in sockets { socket.willReset() } }
            for socket in sockets { socket.close(promise: nil) }
        }
    }

    // MARK: Faults

    func setting(_ direction: PusherTestRelay.Directions) -> StreamSetting {
        state.withLockedValue { direction == .toServer ? $0.toServer : $0.toClient }
    }

    func setFault(_ fault: PusherTestRelay.StreamFault?, _ directions: PusherTestRelay.Directions) {
        let sockets = state.withLockedValue { state in
            if directions.contains(.toServer) { state.toServer.change(to: fault) }
            if directions.contains(.toClient) { state.toClient.change(to: fault) }
            return state.sockets.values.flatMap(\.self)
        }
        eventLoop.execute {
            for socket in sockets {
                try? socket.pipeline.syncOperations.handler(type: RelayHandler.self).faultChanged(directions)
            }
        }
    }

    var idleLimit: Duration? { state.withLockedValue { $0.idleLimit } }

    func setIdleLimit(_ limit: Duration?) {
        let sockets = state.withLockedValue { state in
            state.idleLimit = limit
            return state.sockets.values.flatMap(\.self)
        }
        eventLoop.execute {
            for socket in sockets {
                try? socket.pipeline.syncOperations.handler(type: RelayHandler.self).restartIdleTimer()
            }
        }
    }

    func setUpgradeFault(_ fault: PusherTestRelay.UpgradeFault?) {
        state.withLockedValue { $0.upgradeFault = fault }
    }

    func endConnection(_ id: Int) {
        for socket in state.withLockedValue({ $0.sockets[id] ?? [] }) { socket.close(promise: nil) }
    }

    func failConnections(_ count: Int?, with fault: PusherTestRelay.ConnectionFault) {
        if let count, count <= 0 { return }
        state.withLockedValue { state in
            // Remove the older fault without a limit. Otherwise, the new fault would never apply.
            state.connectionFaults.removeAll { $0.remaining == nil }
            state.connectionFaults.append((fault, count))
        }
    }

    func acceptConnections() { state.withLockedValue { $0.connectionFaults = [] } }

    // MARK: Records

    var connections: [PusherTestRelay.Connection] { state.withLockedValue { $0.log.all } }

    var openConnectionCount: Int { state.withLockedValue { $0.sockets.count } }

    func connection(from index: Int) -> PusherTestRelay.Connection? {
        state.withLockedValue { $0.log.first(from: index) }
    }

    func update(_ id: Int, _ change: (inout PusherTestRelay.Connection) -> Void) {
        state.withLockedValue { $0.log.update(id, change) }
        changes.send()
    }
}

extension RelayEngine.State {
    fileprivate mutating func takeConnectionFault() -> PusherTestRelay.ConnectionFault? {
        guard let (fault, remaining) = connectionFaults.first else { return nil }
        if let remaining {
            if remaining > 1 { connectionFaults[0].remaining = remaining - 1 } else { connectionFaults.removeFirst() }
        }
        return fault
    }
}

extension Channel {
    fileprivate func startReading() {
        setOption(.autoRead, value: true).whenFailure { _ in self.close(promise: nil) }
    }

    /// Makes the system send RST instead of FIN when the socket closes, by setting the linger time to zero. Takes
    /// effect at once on the event loop.
    func willReset() {
        _ = (self as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0))
    }
}
