import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import WebSocketClient

@Suite("Hosts with several addresses", .limited)
struct HostAddressTests {
    /// Addresses of this machine on which no test listens, on any port.
    private static let dead = ["127.77.0.1", "127.77.0.2"]
    private static let deadIPv6 = "::ffff:127.77.0.3"

    private func connect(
        to port: Int,
        _ resolver: any Resolver & Sendable
    ) throws -> SocketUnderTest {
        var options = with(WebSocketOptions()) { $0.closeTimeout = .seconds(3_600) }
        options.resolver = resolver
        return try SocketUnderTest(
            .init(host: "ws.example.test", port: port, useTLS: false, path: "/"),
            options: options
        )
    }

    @Test(
        "the client uses the first address that answers, IPv6 or IPv4",
        arguments: [
            ("127.0.0.1", ["127.0.0.1"], [deadIPv6]), ("::1", [dead[0]], ["::1"]), ("127.0.0.1", ["127.0.0.1"], []),
            ("::1", [], ["::1"]), ("127.0.0.1", dead + ["127.0.0.1"], [deadIPv6]),
        ]
    )
    func happyEyeballs(listening: String, ipv4: [String], ipv6: [String]) async throws {
        try await withScriptedServer(host: listening) { peer in
            let request = await peer.readUpgrade()
            #expect(request.contains("\r\nHost: ws.example.test:"))
            try await peer.write(acceptance(of: request))
            await peer.readToEnd()
        } _: { port in
            let socket = try connect(to: port, FixedResolver(ipv4: ipv4, ipv6: ipv6))
            #expect(await socket.nextOutcome() == .opened)
            _ = try await socket.abort()
        }
    }

    @Test("if no address answers, the attempt fails once, and the error contains the port")
    func noneAnswers() async throws {
        let port = 9
        let socket = try connect(to: port, FixedResolver(ipv4: Self.dead, ipv6: [Self.deadIPv6]))
        let end = await socket.next()
        #expect(end?.error == .connectionFailed)
        #expect(end?.message.contains("'ws.example.test', port \(port)") == true)
        #expect(try await socket.abort() == [])
    }

    @Test("the cancellation of an attempt cancels its waiting lookup, and releases the lookup")
    func abandoned() async throws {
        let threads = LookupThreads(maximum: 1)
        let answer = DispatchSemaphore(value: 0)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        threads.run(
            .init(
                place: .init(host: "other.example", port: 80),
                isWanted: { true },
                resolve: {
                    begin.yield()
                    answer.wait()
                    return .success([])
                },
                end: { _ in }
            )
        )
        await begun.first { _ in true }
        let isLookedUp = NIOLockedValueBox(false)
        weak var released: HostLookup?
        do {
            let lookup = HostLookup(eventLoop: MultiThreadedEventLoopGroup.singleton.next(), threads: threads) { _, _ in
                isLookedUp.withLockedValue { $0 = true }
                return []
            }
            released = lookup
            let socket = try connect(to: 80, lookup)
            #expect(try await socket.abort() == [])
        }
        answer.signal()
        await waitUntil { released == nil }
        #expect(!isLookedUp.withLockedValue { $0 })
    }

    @Test("the error says that a name without an address was not resolved")
    func noAddress() async throws {
        let socket = try connect(to: 80, FixedResolver())
        #expect(await socket.next()?.error == .nameResolutionFailed)
    }
}
