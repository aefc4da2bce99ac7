import NIOConcurrencyHelpers
package import NIOCore

/// The server without sockets. Clients reach it through ``InMemoryLink``s, and everything happens on event loops whose
/// time may be virtual.
///
/// Commands and records are those of ``server``. Commands here affect the network between client and server.
package final class InMemoryServer: Sendable {
    /// The commands and records, as for a server that listens. ``PusherTestServer/start()`` does nothing.
    /// ``PusherTestServer/start()`` does nothing.
    package let server: PusherTestServer

    let engine: ServerEngine
    let crossOriginPolicy: CrossOriginPolicy
    private let network = NIOLockedValueBox(Network())

    private struct Network {
        var latency = Duration.zero
        var fault: LinkFault?
        /// Nil means no limit.
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
        /// As if the server did not listen: the client gets ``InMemoryLink/Event/unreachable`` or
        /// ``InMemoryResponseEvent/failed(_:)``, and the server gets nothing.
        case unreachable
        /// As if every packet were lost: neither side gets anything.
        case blackHole
    }

    /// - Parameters:
    ///   - eventLoop: the server's event loop, for example a `NIOAsyncTestingEventLoop` or an `EmbeddedEventLoop`.
    ///   - unixTime: the time in seconds since 1970 against which signatures of REST requests are checked.
    package init(
        eventLoop: any EventLoop,
        options: PusherTestServer.Options = .init(),
        unixTime: @escaping @Sendable () -> Int = { 1_700_000_000 }
    ) {
        self.crossOriginPolicy = CrossOriginPolicy(allowedOrigins: options.allowedOrigins)
        self.engine = ServerEngine(options: options, eventLoop: eventLoop, webhooks: nil, unixTime: unixTime)
        self.server = PusherTestServer(options: options, engine: engine, listener: nil)
    }

    /// Requests a WebSocket.
    ///
    /// - Parameters:
    ///   - request: the upgrade request; its target is the path with the query. The subprotocol is a header field.
    ///   - eventLoop: where `receive` is called, never within a call to the link or to the server.
    ///   - receive: gets the events as ``InMemoryLink/Event`` describes.
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
    ///   - request: the request, which arrives as a whole.
    ///   - eventLoop: where `receive` is called, never within a call to the exchange or to the server.
    ///   - receive: gets the events as ``InMemoryResponseEvent`` describes.
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
    ///   - request: the request; its target is the path with the query.
    ///   - answer: is called on the server's event loop, at most once. It gets nil if TCP ends without an answer, and
    ///     is never called for an unanswered request.
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

    /// How long each message takes, in each direction; order is kept. Default: zero, which still takes a turn of the
    /// loop.
    package var latency: Duration {
        get { network.withLockedValue { $0.latency } }
        set { network.withLockedValue { $0.latency = newValue } }
    }

    /// Makes new links and exchanges fail; nil makes them succeed again. With a count, later ones succeed.
    package func failLinks(_ count: Int? = nil, with fault: LinkFault?) {
        network.withLockedValue { network in
            network.fault = fault
            network.remainingFaults = count
        }
    }

    /// Blocks WebSockets, as some networks do, but no other requests; nil ends it for new ones.
    package func blockUpgrades(with fault: PusherTestRelay.UpgradeFault?) {
        network.withLockedValue { $0.upgradeFault = fault }
    }

    /// Cuts every link and exchange: both sides learn that TCP has ended.
    package func cutLinks() {
        for link in links { link.cut() }
        for exchange in exchanges { exchange.cut() }
    }

    /// From now on, every message and every end is lost, in both directions, on the existing links and exchanges.
    package func blackHoleLinks() {
        for link in links { link.setBlackHole(true) }
        for exchange in exchanges { exchange.setBlackHole(true) }
    }

    /// Ends ``blackHoleLinks()``. Lost messages stay lost.
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
