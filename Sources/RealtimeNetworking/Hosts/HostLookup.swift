import Dispatch
import Foundation
import NIOConcurrencyHelpers
package import NIOCore
import NIOPosix

/// Looks up the addresses of one host with the system's resolver.
///
/// NIO's own resolver runs the lookups of one event loop one at a time, for all clients of the process. The resolver
/// also runs lookups whose results no client needs anymore. If one name server hangs, the lookups of all other hosts
/// wait too. If a name server is slow, the lookups of many clients pile up.
package final class HostLookup: Resolver, Sendable {
    package typealias Resolve = @Sendable (_ host: String, _ port: Int) throws -> [SocketAddress]

    private let eventLoop: any EventLoop
    private let threads: LookupThreads
    private let resolve: Resolve
    private let ipv4: EventLoopPromise<[SocketAddress]>
    private let ipv6: EventLoopPromise<[SocketAddress]>
    private let isOver = NIOLockedValueBox(false)

    /// Creates a resolver for one lookup. The caller must begin or cancel the lookup.
    package init(
        eventLoop: any EventLoop,
        threads: LookupThreads = .all,
        resolve: @escaping Resolve = { try HostLookup.addresses(of: $0, port: $1) }
    ) {
        self.eventLoop = eventLoop
        self.threads = threads
        self.resolve = resolve
        self.ipv4 = eventLoop.makePromise()
        self.ipv6 = eventLoop.makePromise()
    }

    /// Returns the IPv4 addresses. The system call in ``initiateAAAAQuery(host:port:)`` finds these addresses too.
    package func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { ipv4.futureResult }

    package func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        threads.run(
            .init(
                place: .init(host: host, port: port),
                isWanted: { !self.isOver.withLockedValue { $0 } },
                resolve: { Result { try self.resolve(host, port) } },
                end: { self.end($0) }
            )
        )
        return ipv6.futureResult
    }

    package func cancelQueries() { end(.failure(CancellationError())) }

    private func end(_ result: Result<[SocketAddress], any Error>) {
        let isFirst = isOver.withLockedValue { isOver in
            defer { isOver = true }
            return !isOver
        }
        guard isFirst else { return }
        // NIO gets both answers at once, because they come from one query. So NIO never waits for the second answer.
        eventLoop.execute { [ipv4, ipv6] in
            ipv6.completeWith(result.map { $0.filter { $0.protocol == .inet6 } })
            ipv4.completeWith(result.map { $0.filter { $0.protocol == .inet } })
        }
    }

    /// Returns the addresses of a host, in the order in which to try them (RFC 6724). Blocks the thread.
    package static func addresses(of host: String, port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_protocol = Int32(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        guard status == 0 else { throw Failure(description: String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(first) }
        return sequence(first: first) { $0?.pointee.ai_next }
            .prefix { $0 != nil }
            .compactMap { entry in
                guard let entry = entry?.pointee, let bytes = UnsafeRawPointer(entry.ai_addr) else { return nil }
                switch NIOBSDSocket.AddressFamily(rawValue: entry.ai_family) {
                case .inet: return SocketAddress(bytes.load(as: sockaddr_in.self), host: host)
                case .inet6: return SocketAddress(bytes.load(as: sockaddr_in6.self), host: host)
                default: return nil
                }
            }
    }

    /// The error of a lookup, with the system's message.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }
}

/// The threads on which lookups block. The number of threads is limited, and the threads take waiting lookups in order.
///
/// Waiting lookups of the same host share the first answer. Otherwise, if there are more lookups than threads, most
/// lookups would start shortly before their attempt times out.
package final class LookupThreads: Sendable {
    package struct Place: Hashable, Sendable {
        package var host: String
        package var port: Int

        package init(host: String, port: Int) {
            self.host = host
            self.port = port
        }
    }

    package typealias Answer = Result<[SocketAddress], any Error>

    package struct Call: Sendable {
        var place: Place
        var isWanted: @Sendable () -> Bool
        var resolve: @Sendable () -> Answer
        var end: @Sendable (Answer) -> Void

        /// - Parameter resolve: The function that resolves a host. The function blocks its thread.
        package init(
            place: Place,
            isWanted: @escaping @Sendable () -> Bool,
            resolve: @escaping @Sendable () -> Answer,
            end: @escaping @Sendable (Answer) -> Void
        ) {
            self.place = place
            self.isWanted = isWanted
            self.resolve = resolve
            self.end = end
        }
    }

    private struct State {
        var running = 0
        var waiting = CircularBuffer<Call>()

        /// Returns the next lookup that is not cancelled, or nil if there is none.
        mutating func next() -> Call? {
            while let call = waiting.popFirst() {
                if call.isWanted() { return call }
            }
            running -= 1
            return nil
        }

        mutating func takeAll(for place: Place) -> [Call] {
            let calls = Array(waiting.filter { $0.place == place })
            if !calls.isEmpty { waiting.removeAll { $0.place == place } }
            return calls
        }
    }

    package static let all = LookupThreads(maximum: 32)

    private let maximum: Int
    private let state = NIOLockedValueBox(State())

    package init(maximum: Int) { self.maximum = maximum }

    package func run(_ call: Call) {
        guard call.isWanted() else { return }
        let begins = state.withLockedValue { state in
            guard state.running < maximum else {
                state.waiting.append(call)
                return false
            }
            state.running += 1
            return true
        }
        guard begins else { return }
        // Each thread has its own queue, because a new queue gets a thread at once. The global queues have few threads,
        // and get new threads slowly.
        DispatchQueue(label: "realtime.lookup").async { [self] in
            var next: Call? = call
            while let call = next {
                let answer = call.resolve()
                call.end(answer)
                for other in state.withLockedValue({ $0.takeAll(for: call.place) }) { other.end(answer) }
                next = state.withLockedValue { $0.next() }
            }
        }
    }
}
