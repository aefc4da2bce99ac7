package import NIOCore
import NIOPosix

/// A resolver that returns the same addresses for every name.
package struct FixedResolver: Resolver, Sendable {
    private let ipv4: [String]
    private let ipv6: [String]
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    package init(ipv4: [String] = [], ipv6: [String] = []) {
        self.ipv4 = ipv4
        self.ipv6 = ipv6
    }

    package func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(ipv4, port) }
    package func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { answer(ipv6, port) }
    package func cancelQueries() {}

    private func answer(_ addresses: [String], _ port: Int) -> EventLoopFuture<[SocketAddress]> {
        eventLoop.makeCompletedFuture(Result { try addresses.map { try SocketAddress(ipAddress: $0, port: port) } })
    }
}
