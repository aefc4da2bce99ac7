import PusherClient
import PusherTestServer
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import TestTraits
import Testing

@Suite("A server whose key is pinned", .limited)
struct PinnedServerTests {
    private static let otherPin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    @Test("the client reports a mismatch, tries again, and sends no request to the server")
    func client() async throws {
        let certificates = try TestCertificates()
        var serverOptions = PusherTestServer.Options()
        serverOptions.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: serverOptions) { server in
            let roots = TLSOptions.TrustRoots.only(pem: certificates.rootPEM)
            let refused = Pusher(server, tls: TLSOptions(trustRoots: roots, pins: [Self.otherPin]))
            var errors = refused.errors.makeAsyncIterator()
            refused.connect()
            for _ in 1...2 { #expect(await errors.next()?.code == .pinMismatch) }
            refused.disconnect()
            #expect(server.records.isEmpty)
            let accepted = Pusher(server, tls: TLSOptions(trustRoots: roots, pins: [certificates.serverPin]))
            try await accepted.connected()
            await accepted.disconnected()
        }
    }

    @Test(
        "with pins, an endpoint on another host gets no byte if the app sets it after the client has connected",
        arguments: ["endpoint", "batching endpoint", "request builder"]
    )
    func laterEndpoint(kind: String) async throws {
        let certificates = try TestCertificates()
        var serverOptions = PusherTestServer.Options()
        serverOptions.tls = .init(certificateChain: certificates.serverPEM, privateKey: certificates.serverKeyPEM)
        try await PusherTestServer.withServer(options: serverOptions) { server in
            try await HTTPTestServer.serving(tls: certificates.serverContext) { _ in
                .answer(200)
            } _: { backend in
                let roots = TLSOptions.TrustRoots.only(pem: certificates.rootPEM)
                let pusher = Pusher(server, tls: TLSOptions(trustRoots: roots, pins: [certificates.serverPin]))
                try await pusher.connected()
                let url = "https://127.0.0.1:\(backend.port)/auth"
                pusher.connection.options.authMethod =
                    switch kind {
                    case "endpoint": .endpoint(AuthEndpoint(url, headers: ["Authorization": "Bearer t"]))
                    case "batching endpoint": .endpoint(AuthEndpoint(url, isBatching: true))
                    default: RequestBuilderTests.method(url: url)
                    }
                pusher.connection.options.userAuthMethod = .endpoint(url)
                let error = await #expect(throws: SubscriptionError.self) {
                    try await pusher.subscribe("private-a").subscribed()
                }
                let cause = error?.cause as? AuthorizationError
                #expect(cause?.kind == .invalidRequest)
                #expect(cause?.message.contains("tls.pins cannot be checked for '\(url)'") == true)
                #expect(cause?.message.contains("remove the pins") == true)
                await #expect(throws: PusherClientError.self) { try await pusher.signedIn() }
                await pusher.disconnected()
                #expect(backend.connectionCount == 0)
            }
        }
    }
}
