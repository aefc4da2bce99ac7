import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import PusherTestServer
import TestSupport

/// The state that a proxy's connections share: faults, records, tunnels and the connections to origins.
final class ProxyEngine: Sendable {
    let options: TestProxy.Options
    let eventLoop: any EventLoop
    let changes = ChangeSignal()
    private let state = NIOLockedValueBox(State())

    enum Fault: Sendable {
        case refused(status: Int)
        case silent
        case closed
        case raw([UInt8])
        case followed([UInt8])
    }

    private struct Tunnel: Sendable {
        let client: any Channel
        let origin: any Channel
    }

    private struct State: Sendable {
        var requests: [TestProxy.Request] = []
        var faults: [(fault: Fault, remaining: Int?)] = []
        var tunnels: [ObjectIdentifier: Tunnel] = [:]
        var origins: [ObjectIdentifier: any Channel] = [:]
    }

    init(options: TestProxy.Options, eventLoop: any EventLoop) {
        self.options = options
        self.eventLoop = eventLoop
    }

    // MARK: Faults

    func fail(_ count: Int?, with fault: Fault) {
        if let count, count <= 0 { return }
        state.withLockedValue { state in
            // A fault without a count never ends by itself. If it stayed in the list, the proxy would never use later
            // faults.
            state.faults.removeAll { $0.remaining == nil }
            state.faults.append((fault, count))
        }
    }

    func accept() { state.withLockedValue { $0.faults = [] } }

    func nextFault() -> Fault? {
        state.withLockedValue { state in
            guard let (fault, remaining) = state.faults.first else { return nil }
            if let remaining {
                if remaining > 1 { state.faults[0].remaining = remaining - 1 } else { state.faults.removeFirst() }
            }
            return fault
        }
    }

    func dropTunnels() {
        for tunnel in state.withLockedValue({ Array($0.tunnels.values) }) {
            tunnel.client.close(promise: nil)
            tunnel.origin.close(promise: nil)
        }
    }

    // MARK: Records

    var requests: [TestProxy.Request] { state.withLockedValue { $0.requests } }

    var openTunnelCount: Int { state.withLockedValue { $0.tunnels.count } }

    func record(_ request: ProxyRequest, isAuthorized: Bool, status: Int?) {
        state.withLockedValue { state in
            state.requests.append(
                TestProxy.Request(
                    index: state.requests.count,
                    method: request.method,
                    host: request.target.host,
                    port: request.target.port,
                    isAuthorized: isAuthorized,
                    status: status
                )
            )
        }
        changes.send()
    }

    // MARK: Connections

    /// Connects to an origin, on the event loop of the proxy and of all client connections. The channel reads nothing
    /// before its `autoRead` is set.
    func connect(to address: SocketAddress, allowsHalfClosure: Bool) -> EventLoopFuture<any Channel> {
        ClientBootstrap(group: eventLoop)
            .connectTimeout(TimeAmount(.patience))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.autoRead, value: false)
            .channelOption(.allowRemoteHalfClosure, value: allowsHalfClosure)
            .channelInitializer { channel in
                let id = ObjectIdentifier(channel)
                self.state.withLockedValue { $0.origins[id] = channel }
                channel.closeFuture.whenComplete { _ in self.state.withLockedValue { $0.origins[id] = nil } }
                return channel.eventLoop.makeSucceededVoidFuture()
            }
            .connect(to: address)
    }

    func closeOrigins() -> EventLoopFuture<Void> {
        let origins = state.withLockedValue { Array($0.origins.values) }
        for origin in origins { origin.close(promise: nil) }
        return EventLoopFuture.andAllComplete(origins.map { $0.closeFuture }, on: eventLoop)
    }

    /// Counts a tunnel as open until both of its connections are closed.
    func tunnelBegan(client: any Channel, origin: any Channel) {
        let id = ObjectIdentifier(client)
        state.withLockedValue { $0.tunnels[id] = Tunnel(client: client, origin: origin) }
        changes.send()
        EventLoopFuture.andAllComplete([client.closeFuture, origin.closeFuture], on: eventLoop).whenComplete { _ in
            self.state.withLockedValue { $0.tunnels[id] = nil }
            self.changes.send()
        }
    }
}
