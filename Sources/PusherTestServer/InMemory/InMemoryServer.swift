import NIOConcurrencyHelpers
package import NIOCore

/// The server without sockets: clients are reached through ``InMemoryLink``s, everything happens on event loops whose
/// time may be virtual, and nothing listens.
///
/// Commands and records are those of ``server``. Commands here concern the network between the two.
package final class InMemoryServer: Sendable {
    /// The commands and records, the same as those of a server that listens. ``PusherTestServer/start()`` does nothing.
    package let server: PusherTestServer

    let engine: ServerEngine
    private let network = NIOLockedValueBox(Network())

    private struct Network {
        var latency = Duration.zero
        var fault: LinkFault?
        /// Nil counts on for ever.
        var remainingFaults: Int?
        var links: [ObjectIdentifier: InMemoryLink] = [:]

        mutating func nextFault() -> LinkFault? {
            guard let fault else { return nil }
            if let remaining = remainingFaults {
                remainingFaults = remaining - 1
                if remaining <= 1 { self.fault = nil }
            }
            return fault
        }
    }

    /// What the network does with a new link.
    package enum LinkFault: Hashable, Sendable {
        /// As if nobody listened: the client gets ``InMemoryLink/Event/unreachable``, and the server hears nothing.
        case unreachable
        /// As if every packet were lost: neither side hears anything, ever.
        case blackHole
    }

    /// - Parameters:
    ///   - eventLoop: where the server runs, for example a `NIOAsyncTestingEventLoop` or an `EmbeddedEventLoop`.
    ///   - unixTime: the time in seconds since 1970 against which signatures of REST requests are checked.
    package init(
        eventLoop: any EventLoop,
        options: PusherTestServer.Options = .init(),
        unixTime: @escaping @Sendable () -> Int = { 1_700_000_000 }
    ) {
        self.engine = ServerEngine(options: options, eventLoop: eventLoop, webhooks: nil, unixTime: unixTime)
        self.server = PusherTestServer(options: options, engine: engine, listener: nil)
    }

    /// Asks for a WebSocket.
    ///
    /// - Parameters:
    ///   - request: the upgrade request; its target is the path with the query. The subprotocol is a header field.
    ///   - eventLoop: where `receive` is called, never from within a call to the link or to the server.
    ///   - receive: gets what ``InMemoryLink/Event`` promises.
    package func open(
        _ request: PusherTestServer.Request,
        on eventLoop: any EventLoop,
        receive: @escaping @Sendable (InMemoryLink.Event) -> Void
    ) -> InMemoryLink {
        let link = InMemoryLink(server: self, clientLoop: eventLoop, receive: receive)
        let fault = network.withLockedValue { network -> LinkFault? in
            network.links[ObjectIdentifier(link)] = link
            return network.nextFault()
        }
        link.start(request, fault: fault)
        return link
    }

    /// Sends a request to the REST API or to an authorization endpoint.
    ///
    /// - Parameters:
    ///   - request: the request; its target is the path with the query.
    ///   - answer: is called on the server's event loop, at most once: with nil where TCP ends without an answer, and
    ///     never where the request is left unanswered.
    package func request(
        _ request: PusherTestServer.Request,
        answer: @escaping @Sendable (RESTResponse?) -> Void
    ) {
        engine.eventLoop.execute { self.engine.request(request, respond: answer) }
    }

    /// How long each message takes, in each direction; order is kept. Default: zero, which still goes by the loop.
    package var latency: Duration {
        get { network.withLockedValue { $0.latency } }
        set { network.withLockedValue { $0.latency = newValue } }
    }

    /// Makes new links fail; nil makes them succeed again. A count makes the ones after them succeed.
    package func failLinks(_ count: Int? = nil, with fault: LinkFault?) {
        network.withLockedValue { network in
            network.fault = fault
            network.remainingFaults = count
        }
    }

    /// Cuts every link: both sides hear that TCP has ended.
    package func cutLinks() {
        for link in links { link.cut() }
    }

    /// From now on every message and every end is lost, in both directions, on the links that exist.
    package func blackHoleLinks() {
        for link in links { link.setBlackHole(true) }
    }

    /// Ends what ``blackHoleLinks()`` began. What was lost stays lost.
    package func restoreLinks() {
        for link in links { link.setBlackHole(false) }
    }

    /// The links that have not ended.
    package var links: [InMemoryLink] { network.withLockedValue { Array($0.links.values) } }

    func remove(_ link: InMemoryLink) {
        network.withLockedValue { $0.links[ObjectIdentifier(link)] = nil }
    }
}
