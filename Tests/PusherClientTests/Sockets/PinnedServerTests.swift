import PusherClient
import PusherTestServer
import RealtimeNetworking
import TestTLS
import Testing

@Suite("A server whose key is pinned", .timeLimit(.minutes(5)))
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
}
