import NIOConcurrencyHelpers
package import NIOCore
import RealtimeTestHTTP

/// The server without sockets. Clients connect with ``InMemoryLink``s. Everything runs on event loops whose time may be
/// virtual.
///
/// ``server`` has the commands and records of the server. The commands of this class affect the network between client
/// and server.
package final class InMemoryServer: Sendable {
    /// The commands and records, as for a server that listens. ``PusherTestServer/start()`` only checks the encryption
    /// master key.
    package let server: PusherTestServer

    let engine: ServerEngine
    let crossOriginPolicy: CrossOriginPolicy
    private let network = NIOLockedValueBox(Network())

    private struct Network {
        var latency = Duration.zero
        var fault: LinkFault?
        /// The number of further links and exchanges that fail. Nil means no limit.
        var remainingFaults: Int?
        var upgradeFault: PusherTestRelay.UpgradeFault?
        var links: [ObjectIdentifier: InMemoryLink] = [:]
        var exchanges: [Int: InMemoryExchange] = [:]
        var lastExchange = 0

        mutating func nextFault() -> LinkFault? {
            guard let fault else { return nil }
            if let remaining = remainingFaults {
                remainingFaults = remaining - 1
                if remaining <= 1 { self.fault = nil }
            }
            return fault
        }
    }

    /// The network's effect on a new link or exchange.
    package enum LinkFault: Hashable, Sendable {
        /// The server seems not to listen. The client gets ``InMemoryLink/Event/unreachable`` or
        /// ``InMemoryResponseEvent/failed(_:)``, and the server gets nothing.
        case unreachable
        /// The network loses every packet, so neither side gets anything.
        case blackHole
    }

    /// - Parameters:
    ///   - eventLoop: The server's event loop, for example a `NIOAsyncTestingEventLoop` or an `EmbeddedEventLoop`.
    ///   - unixTime: A closure that returns the time in seconds since 1970, for webhooks and for checks of signed REST
    ///     requests.
    ///   - settle: A closure that the waiting methods of the server call before they return.
    package init(
        eventLoop: any EventLoop,
        options: PusherTestServer.Options = .init(),
        unixTime: @escaping @Sendable () -> Int = { 1_700_000_000 },
        settle: (@Sendable () async -> Void)? = nil
    ) {
        self.crossOriginPolicy = CrossOriginPolicy(options)
        self.engine = ServerEngine(
            options: options,
            eventLoop: eventLoop,
            webhooks: nil,
            unixMilliseconds: { unixTime() * 1_000 },
            settle: settle
        )
        self.server = PusherTestServer(options: options, engine: engine, listener: nil)
    }

    /// Requests a WebSocket.
    ///
    /// - Parameters:
    ///   - request: The upgrade request. The target of the request is the path with the query. The subprotocol is a
    ///     header field.
    ///   - eventLoop: The loop on which the link calls `receive`. The link never calls `receive` during a call to the
    ///     link or to the server.
    ///   - receive: A closure that gets the events in the order that ``InMemoryLink/Event`` describes.
    package func open(
        _ request: PusherTestServer.Request,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (InMemoryLink.Event) -> Void
    ) -> InMemoryLink {
        let link = InMemoryLink(server: self, clientLoop: eventLoop, receive: receive)
        let (fault, upgradeFault) = network.withLockedValue { network in
            network.links[ObjectIdentifier(link)] = link
            return (network.nextFault(), network.upgradeFault)
        }
        link.start(request, fault: fault, upgradeFault: upgradeFault)
        return link
    }

    /// Begins an HTTP request, for example of an HTTP transport, on its own TCP connection.
    ///
    /// - Parameters:
    ///   - request: The request, which arrives as a whole.
    ///   - eventLoop: The loop on which the exchange calls `receive`. The exchange never calls `receive` during a call
    ///     to the exchange or to the server.
    ///   - receive: A closure that gets the events in the order that ``InMemoryResponseEvent`` describes.
    package func request(
        _ request: InMemoryRequest,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (InMemoryResponseEvent) -> Void
    ) -> InMemoryExchange {
        let (exchange, fault) = network.withLockedValue { network in
            network.lastExchange += 1
            let number = network.lastExchange
            let exchange = InMemoryExchange(server: self, number: number, clientLoop: eventLoop, receive: receive)
            network.exchanges[number] = exchange
            return (exchange, network.nextFault())
        }
        let received = PusherTestServer.Request(
            method: request.method,
            target: request.target,
            headers: request.headers,
            body: Array(request.body.readableBytesView)
        )
        exchange.start(received, fault: fault)
        return exchange
    }

    /// Sends a request to the REST API or to an authorization endpoint.
    ///
    /// - Parameters:
    ///   - request: The request. The target of the request is the path with the query.
    ///   - answer: A closure that gets the answer on the server's event loop, at most once. The closure gets nil if the
    ///     server closes the TCP connection without an answer. The server does not call the closure for an unanswered
    ///     request.
    package func request(
        _ request: PusherTestServer.Request,
        answer: @escaping @Sendable (RESTResponse?) -> Void
    ) {
        engine.eventLoop.execute {
            self.engine.request(request) { part in
                switch part {
                case .whole(let response): answer(response)
                case .dropped: answer(nil)
                // Only HTTP transports answer in pieces.
                case .head, .bytes, .flush, .end, .abandoned: break
                }
            }
        }
    }

    /// The time that each message takes, in each direction. Messages keep their order. Default: zero. Even with zero,
    /// no message arrives during the call that sends it.
    package var latency: Duration {
        get { network.withLockedValue { $0.latency } }
        set { network.withLockedValue { $0.latency = newValue } }
    }

    /// Makes new links and exchanges fail; nil makes them succeed again. A count limits the number of failures.
    package func failLinks(_ count: Int? = nil, with fault: LinkFault?) {
        network.withLockedValue { network in
            network.fault = fault
            network.remainingFaults = count
        }
    }

    /// Blocks new WebSockets, as some networks do, but no other requests. Nil allows new WebSockets again.
    package func blockUpgrades(with fault: PusherTestRelay.UpgradeFault?) {
        network.withLockedValue { $0.upgradeFault = fault }
    }

    /// Cuts every link and exchange. Both sides notice the end of the TCP connection.
    package func cutLinks() {
        for link in links { link.cut() }
        for exchange in exchanges { exchange.cut() }
    }

    /// Drops every message from now on, in both directions, on the existing links and exchanges. Neither side notices
    /// when the other side closes the connection.
    package func blackHoleLinks() {
        for link in links { link.setBlackHole(true) }
        for exchange in exchanges { exchange.setBlackHole(true) }
    }

    /// Ends ``blackHoleLinks()``. The network does not deliver the dropped messages later.
    package func restoreLinks() {
        for link in links { link.setBlackHole(false) }
        for exchange in exchanges { exchange.setBlackHole(false) }
    }

    /// The links that have not ended.
    package var links: [InMemoryLink] { network.withLockedValue { Array($0.links.values) } }

    /// The exchanges that have not ended, oldest first.
    package var exchanges: [InMemoryExchange] {
        network.withLockedValue { network in network.exchanges.sorted { $0.key < $1.key }.map(\.value) }
    }

    func remove(exchange number: Int) {
        network.withLockedValue { $0.exchanges[number] = nil }
    }

    func afterLatency(on eventLoop: any EventLoop, _ body: @escaping @Sendable () -> Void) {
        let latency = latency
        if latency > .zero {
            eventLoop.scheduleTask(in: TimeAmount(latency), body)
        } else {
            eventLoop.execute(body)
        }
    }

    func remove(_ link: InMemoryLink) {
        network.withLockedValue { $0.links[ObjectIdentifier(link)] = nil }
    }
}
