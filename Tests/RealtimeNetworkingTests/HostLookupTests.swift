import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import TestTraits
import Testing

@testable import RealtimeNetworking

@Suite("Lookups of hosts", .limited)
struct HostLookupTests {
    private static let found = Result { [try SocketAddress(ipAddress: "127.0.0.1", port: 80)] }

    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()

    private func begin(_ lookup: HostLookup, of host: String) async throws -> [SocketAddress] {
        async let ipv6 = lookup.initiateAAAAQuery(host: host, port: 80).get()
        async let ipv4 = lookup.initiateAQuery(host: host, port: 80).get()
        return try await ipv6 + ipv4
    }

    @Test("returns the system's addresses with the port")
    func system() async throws {
        let found = try await begin(HostLookup(eventLoop: eventLoop), of: "localhost")
        #expect(!found.isEmpty)
        #expect(Set(found.compactMap(\.ipAddress)).isSubset(of: ["127.0.0.1", "::1"]))
        #expect(found.allSatisfy { $0.port == 80 })
    }

    @Test("fails with the system's message for an invalid name")
    func unknown() async throws {
        // The label is too long, so the system fails without a query to a name server.
        let host = String(repeating: "a", count: 70)
        let error = await #expect(throws: HostLookup.Failure.self) {
            try await begin(HostLookup(eventLoop: eventLoop), of: host)
        }
        #expect(error.map { !"\($0)".isEmpty } == true)
    }

    @Test("a lookup that hangs does not delay another lookup on the same event loop")
    func hanging() async throws {
        let expected = try Self.found.get()
        let answer = DispatchSemaphore(value: 0)
        let hanging = HostLookup(eventLoop: eventLoop) { _, _ in
            answer.wait()
            return try Self.found.get()
        }
        async let late = begin(hanging, of: "slow.example")
        let other = HostLookup(eventLoop: eventLoop) { _, _ in try Self.found.get() }
        #expect(try await begin(other, of: "ws.example") == expected)
        answer.signal()
        #expect(try await late == expected)
    }

    @Test("a cancelled lookup ends at once, and ignores the system's late answer")
    func cancelled() async throws {
        let answer = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let lookup = HostLookup(eventLoop: eventLoop) { _, _ in
            begin.yield()
            answer.wait()
            return try Self.found.get()
        }
        let addresses = Task { try await self.begin(lookup, of: "slow.example") }
        await begun.first { _ in true }
        lookup.cancelQueries()
        await #expect(throws: CancellationError.self) { try await addresses.value }
        lookup.cancelQueries()
        answer.signal()
    }

    @Test("a lookup that is cancelled before it begins does not reach the system")
    func cancelledBefore() async throws {
        let threads = LookupThreads(maximum: 1)
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let lookups = (0..<2).map { _ in
            HostLookup(eventLoop: eventLoop, threads: threads) { host, _ in
                begin.yield(host)
                return []
            }
        }
        lookups[0].cancelQueries()
        await #expect(throws: CancellationError.self) { try await self.begin(lookups[0], of: "a.example") }
        #expect(try await self.begin(lookups[1], of: "b.example") == [])
        begin.finish()
        #expect(await begun.reduce(into: []) { $0.append($1) } == ["b.example"])
    }

    @Test("lookups that wait for a thread get the first answer for their host")
    func shared() async throws {
        let expected = try Self.found.get()
        let threads = LookupThreads(maximum: 1)
        let answer = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let lookups = (0..<100).map { _ in
            HostLookup(eventLoop: eventLoop, threads: threads) { host, _ in
                begin.yield(host)
                answer.wait()
                return try Self.found.get()
            }
        }
        let hosts = lookups.indices.map { $0 == 50 ? "b.example" : "a.example" }
        for (lookup, host) in zip(lookups, hosts) { _ = lookup.initiateAAAAQuery(host: host, port: 80) }
        answer.signal()
        answer.signal()
        for lookup in lookups { #expect(try await lookup.initiateAQuery(host: "", port: 80).get() == expected) }
        begin.finish()
        #expect(await begun.reduce(into: []) { $0.append($1) } == ["a.example", "b.example"])
    }

    @Test("a cancelled lookup leaves the queue, and the other lookups run in order")
    func turns() async throws {
        let expected = try Self.found.get()
        let threads = LookupThreads(maximum: 1)
        let answer = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: String.self)
        let lookups = (0..<5).map { _ in
            HostLookup(eventLoop: eventLoop, threads: threads) { host, _ in
                begin.yield(host)
                if host == "0" { answer.wait() }
                return try Self.found.get()
            }
        }
        let queries = lookups.enumerated().map { number, lookup in
            lookup.initiateAAAAQuery(host: "\(number)", port: 80)
        }
        let others = lookups.map { $0.initiateAQuery(host: "", port: 80) }
        lookups[2].cancelQueries()
        answer.signal()
        for (number, (query, other)) in zip(queries, others).enumerated() where number != 2 {
            #expect(try await query.get() == [])
            #expect(try await other.get() == expected)
        }
        begin.finish()
        #expect(await begun.reduce(into: []) { $0.append($1) } == ["0", "1", "3", "4"])
        await #expect(throws: CancellationError.self) { try await queries[2].get() }
    }
}
