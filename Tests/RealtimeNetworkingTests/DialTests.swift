import NIOCore
import NIOEmbedded
import NIOPosix
import NIOSSL
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing

@testable import RealtimeNetworking

@Suite("Dialing", .limited)
struct DialTests {
    private let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
    private let census = ChannelCensus()

    /// A dial with the results that it reports. A test calls `cancel` on the event loop.
    private struct Attempt: Sendable {
        let dial: NIOLoopBoundBox<Dial?>
        let results = Log<Result<any Channel, any Error>>()
        let isOver: EventLoopPromise<Void>

        init(on eventLoop: any EventLoop) {
            dial = .makeEmptyBox(valueType: Dial.self, eventLoop: eventLoop)
            isOver = eventLoop.makePromise()
        }

        func begin(_ target: Dialer.Target, _ dialer: Dialer, on eventLoop: any EventLoop) {
            do throws(NetworkError) {
                let dial = try Dial(target, dialer, on: eventLoop) { ended($0.mapError { $0 }) }
                self.dial.value = dial
                dial.start()
            } catch {
                ended(.failure(error))
            }
        }

        private func ended(_ result: Result<any Channel, any Error>) {
            results.append(result)
            isOver.succeed()
        }

        func cancel() {
            dial.value?.cancel()
            isOver.succeed()
        }
    }

    private func dialer(
        _ tls: TLSOptions = TLSOptions(),
        proxy: HTTPProxy = .direct,
        resolver: FixedResolver? = nil
    ) -> Dialer {
        let census = census
        return Dialer(
            tlsContexts: TLSContextSource(tls),
            proxies: ProxyRules(proxy),
            resolver: resolver,
            observe: { census.add($0) }
        )
    }

    // MARK: Cancelling

    private static let turns = [0, 1, 2, 3, 4, 6, 8, 12, 16, 24]

    enum Stage: CaseIterable {
        case tcp, addresses, lookup, silentProxy, slowProxy, silentTLS, wholeTLS, tlsThroughProxy
    }

    @Test(
        "a cancelled attempt leaves no channel behind, and reports nothing",
        arguments: Stage.allCases,
        Self.turns
    )
    func cancelled(stage: Stage, turns: Int) async throws {
        let certificates = TestCertificates()
        try await withScriptedServer(tls: stage == .wholeTLS ? try certificates.serverContext : nil) { peer in
            switch stage {
            case .slowProxy: try await peer.write("HTTP/1.1 200 ")
            case .tlsThroughProxy:
                _ = await peer.readUpgrade()
                try await peer.write("HTTP/1.1 200 OK\r\n\r\n")
            default: break
            }
            await peer.readToEnd()
        } _: { port in
            let useTLS = [.silentTLS, .wholeTLS, .tlsThroughProxy].contains(stage)
            let isProxied = [.silentProxy, .slowProxy, .tlsThroughProxy].contains(stage)
            let host = stage == .addresses ? "server.test" : stage == .lookup || useTLS ? "localhost" : "127.0.0.1"
            let addresses = FixedResolver(ipv4: ["127.77.0.1", "127.0.0.1"], ipv6: ["::ffff:127.0.0.1"])
            let dialer = dialer(
                TLSOptions(trustRoots: .only(pem: certificates.rootPEM)),
                proxy: isProxied ? .server(host: "127.0.0.1", port: port) : .direct,
                resolver: stage == .addresses ? addresses : nil
            )
            let target = Dialer.Target(host: host, port: isProxied ? 443 : port, useTLS: useTLS)
            let attempt = Attempt(on: eventLoop)
            try await eventLoop.submit { [eventLoop] in attempt.begin(target, dialer, on: eventLoop) }.get()
            for _ in 0..<turns { try await eventLoop.submit {}.get() }
            try await eventLoop.submit { attempt.cancel() }.get()
            let results = attempt.results.elements
            // With enough turns, the client connects before the test cancels the attempt.
            for case .success(let channel) in results { try await channel.close() }
            await waitUntil { census.open == 0 }
            #expect(attempt.results.count == results.count && results.count <= 1)
        }
    }

    @Test("a cancelled attempt closes a channel whose TCP connection is not complete")
    func cancelledTCP() async throws {
        // The listener accepts no connection and has a short queue, so most attempts cannot complete the TCP
        // connection.
        let listener = try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.backlog, value: 1)
            .serverChannelOption(.autoRead, value: false)
            .bind(host: "127.0.0.1", port: 0).get()
        let target = Dialer.Target(host: "127.0.0.1", port: try #require(listener.localAddress?.port), useTLS: true)
        let dialer = dialer()
        let attempts = (0..<8).map { _ in Attempt(on: eventLoop) }
        for attempt in attempts {
            try await eventLoop.submit { [eventLoop] in attempt.begin(target, dialer, on: eventLoop) }.get()
        }
        await waitUntil { census.opened == 8 }
        for attempt in attempts { try await eventLoop.submit { attempt.cancel() }.get() }
        await waitUntil { census.open == 0 }
        #expect(attempts.allSatisfy { $0.results.count == 0 })
        try await listener.close()
    }

    // MARK: Failures

    private func failure(_ host: String, _ port: Int, useTLS: Bool = false, _ dialer: Dialer) async throws
        -> (any Error)?
    {
        let attempt = Attempt(on: eventLoop)
        let target = Dialer.Target(host: host, port: port, useTLS: useTLS)
        try await eventLoop.submit { [eventLoop] in attempt.begin(target, dialer, on: eventLoop) }.get()
        try await attempt.isOver.futureResult.get()
        await waitUntil { census.open == 0 }
        guard case .failure(let error)? = attempt.results.elements.first else { return nil }
        return error
    }

    @Test("an attempt without a route fails with the reason, and makes no channel")
    func noRoute() async throws {
        let name = String(repeating: "a", count: 70)
        let cases: [(String, Int, Dialer, NetworkError.Code, String)] = [
            (name, 80, dialer(), .nameResolutionFailed, "the host '\(name)' could not be resolved"),
            ("127.0.0.1", 0, dialer(), .invalidPort, "it is not between 1 and 65535"),
            ("127.0.0.1", 65_536, dialer(), .invalidPort, "it is not between 1 and 65535"),
            (
                "server.test", 80, dialer(proxy: .server(host: name, port: 80)), .proxyFailed,
                "the proxy '\(name)' could not be resolved"
            ),
        ]
        for (host, port, dialer, code, reason) in cases {
            let error = try await failure(host, port, dialer) as? DialFailure
            #expect(error?.code == code)
            #expect(error?.reason == reason)
        }
        #expect(census.opened == 0)
    }

    @Test("an attempt that reaches nobody fails with the address and the system's reason")
    func refused() async throws {
        let direct = try await failure("127.77.0.1", 9, dialer()) as? DialFailure
        #expect(
            direct?.error.message
                == "Connection failed: the host '127.77.0.1', port 9, was not reached (Connection refused)."
        )
        let proxied = try await failure("server.test", 80, dialer(proxy: .server(host: "127.77.0.1", port: 9)))
        #expect(
            (proxied as? DialFailure)?.error.message
                == "Connection failed: the proxy '127.77.0.1', port 9, was not reached (Connection refused)."
        )
        let dead = FixedResolver(ipv4: ["127.77.0.1", "127.77.0.2"], ipv6: ["::ffff:127.77.0.3"])
        let several = try await failure("server.test", 9, dialer(resolver: dead)) as? DialFailure
        #expect(several?.code == .connectionFailed)
        #expect(census.opened == 5)
    }

    @Test(
        "an attempt through a proxy fails with the proxy's answer",
        arguments: [
            ("HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\n", false, "it answered with HTTP status 403"),
            (
                "HTTP/1.1 407 Proxy\r\n\r\n", false,
                "it requires a user name and a password (HTTP status 407)"
            ),
            (
                "HTTP/1.1 407 Proxy\r\n\r\n", true,
                "it does not accept the user name and the password (HTTP status 407)"
            ), ("", false, "it gave no answer, or an answer that is not HTTP"),
            ("SSH-2.0-OpenSSH\r\n", false, "it gave no answer, or an answer that is not HTTP"),
            ("HTTP/1.1 200", false, "it gave no answer, or an answer that is not HTTP"),
            (
                "HTTP/1.1 101 X\r\nUpgrade: a\r\nConnection: Upgrade\r\n\r\n", false,
                "it answered with HTTP status 101"
            ),
        ]
    )
    func tunnel(answer: String, hasCredentials: Bool, reason: String) async throws {
        try await withScriptedServer { peer in
            let request = await peer.readUpgrade()
            #expect(request.hasPrefix("CONNECT server.test:443 HTTP/1.1\r\nHost: server.test:443\r\n"))
            #expect(request.contains("Proxy-Authorization: Basic YWRhOmh1c2g=\r\n") == hasCredentials)
            try await peer.write(answer)
        } _: { port in
            let credentials = hasCredentials ? HTTPProxy.Credentials(username: "ada", password: "hush") : nil
            let dialer = dialer(proxy: .server(host: "127.0.0.1", port: port, credentials: credentials))
            let error = try await failure("server.test", 443, useTLS: true, dialer) as? DialFailure
            #expect(error?.code == .proxyFailed)
            let place = "the proxy '127.0.0.1', port \(port), did not connect to 'server.test', port 443"
            #expect(error?.reason == "\(place): \(reason)")
        }
    }

    @Test(
        "an attempt whose TLS handshake fails names the host and the reason",
        arguments: [
            ("HTTP/1.1 400 Bad Request\r\n\r\n", TLSFailure.Code.notTLS), ("", .connectionEnded),
            ("\u{15}\u{03}\u{03}\u{00}\u{02}\u{02}\u{28}", .refusedByServer),
        ]
    )
    func handshake(answer: String, reason: TLSFailure.Code) async throws {
        try await withScriptedServer { peer in
            try await peer.write(answer)
            if !answer.isEmpty { await peer.readToEnd() }
        } _: { port in
            let error = try await failure("localhost", port, useTLS: true, dialer()) as? DialFailure
            #expect(error?.code == .tlsFailed)
            #expect((error?.cause as? TLSFailure)?.code == reason)
            #expect(error?.error.message.hasPrefix("TLS with 'localhost', port \(port), failed: ") == true)
        }
    }

    @Test(
        "the certificate must be for the name of the host, and its key must be pinned, also through a proxy",
        arguments: [true, false]
    )
    func checks(throughProxy: Bool) async throws {
        let certificates = TestCertificates(.rightAndLocalhost)
        let other = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        try await withScriptedServer(tls: try certificates.serverContext) { peer in
            await peer.readToEnd()
        } _: { port in
            try await withTunnelingServer(to: port) { proxyPort in
                let cases: [(String, Set<String>, NetworkError.Code?)] = [
                    ("right.test", [], nil), ("right.test", [certificates.serverPin], nil),
                    ("right.test", [other, "sha256/\(certificates.serverPin)"], nil),
                    // The certificate is valid for the address of the peer, but not for the name.
                    ("wrong.test", [], .tlsFailed), ("wrong.test", [certificates.serverPin], .tlsFailed),
                    ("right.test", [other], .pinMismatch),
                ]
                for (host, pins, code) in cases {
                    let dialer = dialer(
                        TLSOptions(trustRoots: .only(pem: certificates.rootPEM), pins: pins),
                        proxy: throughProxy ? .server(host: "127.0.0.1", port: proxyPort) : .direct,
                        resolver: throughProxy ? nil : FixedResolver(ipv4: ["127.0.0.1"])
                    )
                    let attempt = Attempt(on: eventLoop)
                    let target = Dialer.Target(host: host, port: port, useTLS: true)
                    try await eventLoop.submit { [eventLoop] in attempt.begin(target, dialer, on: eventLoop) }.get()
                    try await attempt.isOver.futureResult.get()
                    switch attempt.results.elements.first {
                    case .success(let channel)?:
                        #expect(code == nil, "\(host) \(pins)")
                        try await channel.close()
                    case .failure(let error)?: #expect((error as? DialFailure)?.code == code, "\(host) \(error)")
                    case nil: Issue.record("no result")
                    }
                    await waitUntil { census.open == 0 }
                }
            }
        }
    }

    @Test("with pins, the client makes no connection without TLS")
    func pinsWithoutTLS() async throws {
        let dialer = dialer(TLSOptions(pins: ["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="]))
        let error = try await failure("127.0.0.1", 80, dialer) as? NetworkError
        #expect(error?.code == .invalidOption)
        #expect(error?.message.contains("has no TLS") == true)
        #expect(census.opened == 0)
    }

    @Test("an event loop without sockets is an error")
    func noSockets() throws {
        let loop = EmbeddedEventLoop()
        let attempt = Attempt(on: loop)
        attempt.begin(.init(host: "127.0.0.1", port: 80, useTLS: false), dialer(), on: loop)
        loop.run()
        guard case .failure(let error)? = attempt.results.elements.first else {
            Issue.record("no failure")
            return
        }
        #expect((error as? DialFailure)?.code == .connectionFailed)
        #expect(census.opened == 0)
    }

    /// Runs a proxy that connects every tunnel to a port of loopback, so that any name leads to that port.
    private func withTunnelingServer(to port: Int, _ body: (Int) async throws -> Void) async throws {
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(TunnelingHandler(port: port))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        do {
            try await body(listener.localAddress?.port ?? 0)
        } catch {
            try await listener.close()
            throw error
        }
        try await listener.close()
    }
}

/// Accepts the request for a tunnel, whatever its target, and passes bytes to and from a port of loopback.
private final class TunnelingHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let port: Int
    private var peer: (any Channel)?
    private var isAccepted = false

    init(port: Int) { self.port = port }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        guard !isAccepted else {
            peer?.writeAndFlush(bytes, promise: nil)
            return
        }
        isAccepted = true
        let client = context.channel
        let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        ClientBootstrap(group: context.eventLoop)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(RelayHandler(to: client))
                }
            }
            .connect(host: "127.0.0.1", port: port).whenComplete { result in
                let (handler, context) = bound.value
                guard let peer = try? result.get() else { return context.close(promise: nil) }
                handler.peer = peer
                client.writeAndFlush(ByteBuffer(string: "HTTP/1.1 200 Connected\r\n\r\n"), promise: nil)
            }
    }

    func channelInactive(context: ChannelHandlerContext) { peer?.close(promise: nil) }
}

private final class RelayHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let target: any Channel

    init(to target: any Channel) { self.target = target }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        target.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { target.close(promise: nil) }
}
