import ClientTestSupport
import PusherClient
import PusherTestServer
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import TestTraits
import Testing

@Suite("Servers whose keys are pinned", .limited)
struct PinnedServerTests {
    private static let otherPin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func serverOptions(_ certificates: TestCertificates) -> PusherTestServer.Options {
        var options = PusherTestServer.Options()
        options.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        return options
    }

    private func options(
        _ server: PusherTestServer,
        _ tls: TLSOptions,
        transports: PusherTransports = .webSocket
    ) -> PusherClientOptions {
        PusherClientOptions(
            host: .host(server.host),
            port: server.port,
            timeouts: .patient,
            retryPolicy: .delays([.milliseconds(1)]),
            requestRetryPolicy: .delays([], repeatsLast: false),
            tls: tls,
            transports: transports,
            callbackQueue: .eventLoop,
            logger: .quiet
        )
    }

    @Test(
        "the client reports a mismatch, tries again, and sends no request to the server",
        arguments: [.webSocket, .httpStreaming, .httpPolling] as [PusherTransport]
    )
    func client(transport: PusherTransport) async throws {
        let certificates = TestCertificates()
        try await PusherTestServer.withServer(options: serverOptions(certificates)) { server in
            let key = server.options.application.key
            var tls = TLSOptions(trustRoots: .only(pem: certificates.rootPEM), pins: [Self.otherPin])
            let refused = Pusher(key: key, options: options(server, tls, transports: [transport]))
            var errors = refused.errors.makeAsyncIterator()
            refused.connect()
            for _ in 1...2 {
                let error = await errors.next()
                #expect(error?.code == .pinMismatch)
                #expect(error?.message.contains("sha256/\(certificates.serverPin)") == true)
            }
            await refused.disconnected()
            #expect(server.records.isEmpty)
            tls.pins.insert(certificates.serverPin)
            let accepted = Pusher(key: key, options: options(server, tls, transports: [transport]))
            try await accepted.connected()
            #expect(accepted.connection.transport == transport)
            await accepted.disconnected()
        }
    }

    @Test("the client makes no connection without TLS if keys are pinned", arguments: [true, false])
    func plain(overHTTP: Bool) async throws {
        let pusher = Pusher(
            key: "key",
            options: PusherClientOptions(
                host: .host("127.77.0.1"),
                port: 9,
                useTLS: false,
                tls: TLSOptions(pins: [Self.otherPin]),
                transports: overHTTP ? [.httpStreaming] : .webSocket,
                logger: .quiet
            )
        )
        let error = await #expect(throws: PusherClientError.self) { try await pusher.connected() }
        #expect(error?.code == .invalidOption)
        #expect(error?.message.contains("has no TLS") == true)
    }

    @Test(
        "an authorization endpoint gets a request only if its key is pinned",
        arguments: ["endpoint", "batching endpoint", "request builder"]
    )
    func endpoints(kind: String) async throws {
        let certificates = TestCertificates()
        let backendCertificates = TestCertificates.ofAnotherAuthority
        let roots = TLSOptions.TrustRoots.only(pem: certificates.rootPEM + "\n" + backendCertificates.rootPEM)
        try await PusherTestServer.withServer(options: serverOptions(certificates)) { server in
            try await HTTPTestServer.serving(tls: backendCertificates.serverContext) { _ in
                .answer(403)
            } _: { backend in
                let url = "https://127.0.0.1:\(backend.port)/auth"
                for isPinned in [false, true] {
                    let pins = [certificates.serverPin] + (isPinned ? [backendCertificates.serverPin] : [])
                    let options = options(server, TLSOptions(trustRoots: roots, pins: Set(pins)))
                    options.authMethod =
                        switch kind {
                        case "endpoint": .endpoint(AuthEndpoint(url, headers: ["Authorization": "Bearer t"]))
                        case "batching endpoint": .endpoint(AuthEndpoint(url, isBatching: true))
                        default: RequestBuilderTests.method(url: url)
                        }
                    options.userAuthMethod = .endpoint(url)
                    let pusher = Pusher(key: server.options.application.key, options: options)
                    try await pusher.connected()
                    let error = await #expect(throws: SubscriptionError.self) {
                        try await pusher.subscribe("private-a").subscribed()
                    }
                    let cause = error?.cause as? AuthorizationError
                    #expect(cause?.code == (isPinned ? .refused : .requestFailed), "\(String(describing: cause))")
                    let shown = cause?.message.contains("sha256/\(backendCertificates.serverPin)")
                    #expect(shown == !isPinned)
                    await #expect(throws: PusherClientError.self) { try await pusher.signedIn() }
                    await pusher.disconnected()
                    // A request builder is asked once more after a refusal.
                    #expect(backend.requests.count >= 2 || !isPinned)
                    #expect(backend.requests.isEmpty == !isPinned)
                }
            }
        }
    }
}
