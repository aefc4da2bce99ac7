import NIOCore
import NIOPosix
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

/// The failures to connect, which WebSockets and HTTP requests report in the same words.
@Suite("Failures to connect, for all protocols", .limited)
struct DialFailureTests {
    /// A server or a proxy that fails in one stage of an attempt.
    enum Fault: CaseIterable {
        case unresolvable, refused, unreachableProxy, unresolvableProxy, refusingProxy, silentProxy, notTLS, untrusted,
            otherHost, notPinned
    }

    private static let unresolvable = String(repeating: "a", count: 70)
    private static let otherPin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func failure(_ target: Dialer.Target, _ dialer: Dialer) async throws -> DialFailure? {
        let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = eventLoop.makePromise(of: DialFailure?.self)
        try await eventLoop.submit {
            try Dial(target, dialer, on: eventLoop) { result in
                if case .failure(let failure) = result {
                    promise.succeed(failure)
                } else {
                    promise.succeed(nil)
                }
            }.start()
        }.get()
        return try await promise.futureResult.get()
    }

    @Test("a WebSocket and an HTTP request that cannot connect give the same reason", arguments: Fault.allCases)
    func reasons(fault: Fault) async throws {
        let certificates = TestCertificates()
        let hasTLS = [.untrusted, .otherHost, .notPinned].contains(fault)
        try await withScriptedServer(tls: hasTLS ? try certificates.serverContext : nil) { peer in
            switch fault {
            case .refusingProxy:
                _ = await peer.readUpgrade()
                try await peer.write("HTTP/1.1 403 Forbidden\r\n\r\n")
            case .silentProxy: _ = await peer.readUpgrade()
            case .notTLS:
                try await peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
                await peer.readToEnd()
            default: await peer.readToEnd()
            }
        } _: { port in
            var target = Dialer.Target(host: "server.test", port: port, useTLS: hasTLS || fault == .notTLS)
            var proxy = HTTPProxy.direct
            var tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
            var code = NetworkError.Code.proxyFailed
            switch fault {
            case .unresolvable: (target.host, code) = (Self.unresolvable, .nameResolutionFailed)
            case .refused: (target.host, target.port, code) = ("127.77.0.1", 9, .connectionFailed)
            case .unreachableProxy: proxy = .server(host: "127.77.0.1", port: 9)
            case .unresolvableProxy: proxy = .server(host: Self.unresolvable, port: 80)
            case .refusingProxy, .silentProxy:
                proxy = .server(host: "127.0.0.1", port: port)
                // A request without TLS would not need a tunnel.
                target.useTLS = true
            case .notTLS: (target.host, code) = ("localhost", .tlsFailed)
            case .untrusted:
                (target.host, code) = ("localhost", .tlsFailed)
                tls.trustRoots = .only(pem: TestCertificates.ofAnotherAuthority.rootPEM)
            case .otherHost: (target.host, code) = ("other.localhost", .tlsFailed)
            case .notPinned:
                (target.host, code) = ("localhost", .pinMismatch)
                tls.pins = [Self.otherPin]
            }
            let resolver = fault == .otherHost ? FixedResolver(ipv4: ["127.0.0.1"]) : nil
            let dialer = Dialer(tlsContexts: TLSContextSource(tls), proxies: ProxyRules(proxy), resolver: resolver)
            let failure = try #require(try await failure(target, dialer))
            #expect(failure.code == code)

            let requester = PooledHTTPRequester(
                dialer: dialer,
                on: MultiThreadedEventLoopGroup.singleton.next(),
                connectTimeout: .patience
            )
            let url = "\(target.useTLS ? "https" : "http")://\(target.host):\(target.port)/"
            let error = try #require(await requester.failure(.to(url)))
            #expect(error.message.hasSuffix(failure.reason), "\(error.message)")
            #expect(error.isUnsent && error.kind == (code == .pinMismatch ? .pinMismatch : .failed))
            requester.shutdown()

            let request = WebSocketRequest(host: target.host, port: target.port, useTLS: target.useTLS, path: "/")
            let socket = try SocketUnderTest(request, connector: WebSocketConnector(WebSocketOptions(), dialer: dialer))
            let closure = await socket.nextOutcome()
            #expect(closure?.error?.rawValue == code.rawValue)
            #expect(closure?.message == failure.error.message)
        }
    }
}
