import NIOCore
import RealtimeNetworking

/// The connections of one client on one event loop.
///
/// Each exchange takes an unused connection, or dials its own connection, or waits while the maximum number of
/// connections to its server is open. So an exchange never waits for a dial that another exchange has begun and
/// abandoned.
final class HTTPConnections {
    struct Limits: Hashable, Sendable {
        /// The maximum number of connections to one server.
        var connections: Int
        /// The time for an attempt to connect, including the wait for a free connection.
        var connectTime: Duration
        /// The time that an unused connection stays open. With zero, no connection serves a second request.
        var idleTime: Duration
    }

    /// An attempt to connect that is in progress.
    struct Attempt {
        var proxy: ProxyServer?
        var cancel: () -> Void
    }

    /// Begins an attempt to connect, which calls the completion later, but not after a cancellation.
    typealias Connect = (
        _ target: Dialer.Target, _ initialReadSize: Int,
        _ completion: @escaping (Result<any Channel, DialFailure>) -> Void
    ) throws(NetworkError) -> Attempt

    enum Way {
        case connection(HTTPConnection)
        /// The exchange connects. Afterwards, a connection to the server has been made, or ``left(_:)`` is called.
        case connect
        /// The exchange waits until the connections call one of its methods.
        case wait
    }

    private struct Server {
        var unused: [HTTPConnection] = []
        /// The number of open connections and attempts to connect.
        var count = 0
        /// The number of connections that will soon be free, or close.
        var settling = 0
        var waiting = CircularBuffer<HTTPExchange>()
    }

    /// The time before the server's own limit at which an unused connection closes.
    private static let idleMargin = Duration.seconds(1)

    let eventLoop: any EventLoop
    let limits: Limits
    let connect: Connect
    /// The number of ``retireConnections()`` calls.
    private(set) var generation = 0
    private(set) var isShutDown = false
    private var servers: [Dialer.Target: Server] = [:]
    /// All exchanges that have not ended.
    private var exchanges: [ObjectIdentifier: HTTPExchange] = [:]

    init(on eventLoop: any EventLoop, _ limits: Limits, connect: @escaping Connect) {
        self.eventLoop = eventLoop
        self.limits = limits
        self.connect = connect
    }

    convenience init(_ dialer: Dialer, on eventLoop: any EventLoop, _ limits: Limits) {
        self.init(on: eventLoop, limits) { target, initialReadSize, completion throws(NetworkError) in
            let dial = try Dial(
                target,
                dialer,
                on: eventLoop,
                initialReadSize: initialReadSize,
                completion: completion
            )
            // An attempt that fails at once would let the next exchange connect within this call, and so on.
            eventLoop.assumeIsolated().execute { dial.start() }
            return Attempt(proxy: dial.proxy, cancel: { dial.cancel() })
        }
    }

    /// Closes the unused connections. Connections in use, and those that are being made, end with their requests.
    func retireConnections() {
        generation += 1
        retireUnused()
    }

    /// Ends all exchanges with an error, and closes the unused connections.
    func shutdown() {
        isShutDown = true
        for exchange in exchanges.values { exchange.shutdown() }
        retireUnused()
    }

    private func retireUnused() {
        for server in servers.values { for connection in server.unused { connection.retire() } }
    }

    func began(_ exchange: HTTPExchange) { exchanges[ObjectIdentifier(exchange)] = exchange }

    func ended(_ exchange: HTTPExchange) { exchanges[ObjectIdentifier(exchange)] = nil }

    /// Whether there is no exchange, and no connection that counts toward the limit.
    var isEmpty: Bool { servers.isEmpty && exchanges.isEmpty }

    /// The number of connections to a server that count toward the limit, including those that are being made.
    func count(of target: Dialer.Target) -> Int { servers[target]?.count ?? 0 }

    // MARK: Shared connections

    /// Finds a connection for an exchange.
    ///
    /// - Parameter isRepetition: Whether the exchange has lost a connection that had served another request. Other such
    ///   connections may be lost too. So the exchange gets a new connection, before all waiting exchanges.
    func way(for exchange: HTTPExchange, isRepetition: Bool) -> Way {
        let target = exchange.target
        if isRepetition {
            guard servers[target, default: Server()].count < limits.connections else {
                servers[target]?.waiting.prepend(exchange)
                return .wait
            }
        } else {
            while let connection = servers[target]?.unused.popLast() {
                if connection.isUsable { return .connection(connection) }
                connection.close()
            }
            let server = servers[target, default: Server()]
            guard server.count < limits.connections, server.settling <= server.waiting.count else {
                servers[target]?.waiting.append(exchange)
                return .wait
            }
        }
        servers[target, default: Server()].count += 1
        return .connect
    }

    func stopWaiting(_ exchange: HTTPExchange) {
        servers[exchange.target]?.waiting.removeAll { $0 === exchange }
    }

    /// Records the end of an attempt that made no connection, or of a connection.
    func left(_ target: Dialer.Target) {
        servers[target]?.count -= 1
        if !isShutDown, let next = servers[target]?.waiting.popFirst() {
            servers[target]?.count += 1
            next.dial()
        } else if servers[target]?.count == 0 {
            servers[target] = nil
        }
    }
}

extension HTTPConnections: HTTPConnectionOwner {
    func settling(_ connection: HTTPConnection) {
        if connection.isPooled { servers[connection.target]?.settling += 1 }
    }

    func settled(_ connection: HTTPConnection) {
        let target = connection.target
        if connection.isPooled { servers[target]?.settling -= 1 }
        guard connection.isPooled, connection.generation == generation, !isShutDown else { return connection.retire() }
        if let next = servers[target]?.waiting.popFirst() { return next.send(over: connection) }
        // A request could still be on its way when the server closes the connection, and only some may be repeated.
        let serverTime = connection.serverIdleTime.map { $0 - Self.idleMargin }
        let time = min(limits.idleTime, serverTime ?? limits.idleTime)
        guard time > .zero else { return connection.retire() }
        servers[target]?.unused.append(connection)
        connection.closeUnlessUsed(within: TimeAmount(clamping: time))
    }

    func closed(_ connection: HTTPConnection, wasSettling: Bool) {
        guard connection.isPooled else { return }
        if wasSettling { servers[connection.target]?.settling -= 1 }
        servers[connection.target]?.unused.removeAll { $0 === connection }
        left(connection.target)
    }
}
