import NIOConcurrencyHelpers
import NIOCore
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

@Suite("Pins and client certificates", .limited)
struct PinningTests {
    private static let otherPin = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

    private func request(_ port: Int) -> WebSocketRequest {
        .init(host: "localhost", port: port, useTLS: true, path: "/app/key")
    }

    @Test(
        "the client upgrades the connection if one of its pins matches, with or without a prefix",
        arguments: ["", "sha256/"]
    )
    func match(prefix: String) async throws {
        let certificates = TestCertificates()
        let options = TLSOptions(
            trustRoots: .only(pem: certificates.rootPEM),
            pins: [Self.otherPin, prefix + certificates.serverPin]
        )
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(request(port), options: with(WebSocketOptions()) { $0.tls = options })
            #expect(await socket.nextOutcome() == .opened)
            _ = try await socket.abort()
        }
    }

    @Test(
        "the client sends no byte of the upgrade without a matching pin",
        arguments: [TLSOptions.CertificateVerification.full, .noHostnameVerification, .insecurelyTrustAnyCertificate]
    )
    func mismatch(verification: TLSOptions.CertificateVerification) async throws {
        let certificates = TestCertificates()
        let options = TLSOptions(
            trustRoots: .only(pem: certificates.rootPEM),
            certificateVerification: verification,
            pins: [Self.otherPin]
        )
        let received = NIOLockedValueBox<[String]>([])
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            let text = await peer.readToEnd()
            received.withLockedValue { $0.append(text) }
        } _: { port in
            let socket = try SocketUnderTest(request(port), options: with(WebSocketOptions()) { $0.tls = options })
            guard case .closed(let closure)? = await socket.nextOutcome() else {
                Issue.record("not closed")
                return
            }
            #expect(closure.error?.code == .pinMismatch)
            // The error contains the server's pin. After an intended change of the key, the developer can copy the pin
            // from the error.
            #expect(closure.error?.message.contains("sha256/\(certificates.serverPin)") == true)
        }
        #expect(received.withLockedValue { $0 } == [""])
    }

    @Test("the client rejects a pinned certificate of an untrusted authority")
    func authority() async throws {
        let certificates = TestCertificates()
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            await peer.readToEnd()
        } _: { port in
            let options = TLSOptions(pins: [certificates.serverPin])
            let socket = try SocketUnderTest(request(port), options: with(WebSocketOptions()) { $0.tls = options })
            guard case .closed(let closure)? = await socket.nextOutcome() else {
                Issue.record("not closed")
                return
            }
            #expect(closure.error?.code == .tlsFailed)
        }
    }

    @Test("if the server requires a client certificate, the client connects only with a certificate")
    func clientCertificate() async throws {
        let certificates = TestCertificates()
        for showsCertificate in [true, false] {
            let options = TLSOptions(
                trustRoots: .only(pem: certificates.rootPEM),
                clientCertificate: showsCertificate
                    ? .init(certificateChain: certificates.clientPEM, privateKey: certificates.clientKeyPEM) : nil
            )
            try await withScriptedServer(tls: certificates.demandingServerContext) { peer in
                try await peer.acceptUpgrade()
                await peer.readToEnd()
            } _: { port in
                let socket = try SocketUnderTest(request(port), options: with(WebSocketOptions()) { $0.tls = options })
                let outcome = await socket.nextOutcome()
                #expect((outcome == .opened) == showsCertificate, "\(String(describing: outcome))")
                _ = try await socket.abort()
            }
        }
    }

    @Test("the client makes no connection, and reports the error, if it cannot set up TLS")
    func noContext() async throws {
        let certificates = TestCertificates()
        let mismatch = TLSOptions.ClientCertificate(
            certificateChain: certificates.clientPEM,
            privateKey: certificates.serverKeyPEM
        )
        let socket = try SocketUnderTest(
            request(9),
            options: with(WebSocketOptions()) { $0.tls = TLSOptions(clientCertificate: mismatch) }
        )
        guard case .closed(let closure)? = await socket.nextOutcome() else {
            Issue.record("not closed")
            return
        }
        #expect(closure.error?.code == .tlsFailed)
        #expect(closure.error?.message.contains("cannot be set up on this machine") == true)
        _ = try await socket.abort()
    }

    @Test("the validation of options names invalid pins and certificates, and shows no private key")
    func invalid() throws {
        let certificates = TestCertificates()
        let pem = certificates.clientPEM
        let invalid: [(TLSOptions, String)] = [
            (TLSOptions(pins: [Self.otherPin, "no base64!"]), "no base64!"), (TLSOptions(pins: ["AAAA"]), "AAAA"),
            (TLSOptions(pins: ["sha256/"]), "sha256/"),
            (
                TLSOptions(clientCertificate: .init(certificateChain: "x", privateKey: "y")),
                "Invalid client certificate"
            ),
            (
                TLSOptions(clientCertificate: .init(certificateChain: pem, privateKey: "a secret")),
                "the private key must be an unencrypted PEM key"
            ),
            (
                TLSOptions(clientCertificate: .init(certificateChain: pem, privateKey: certificates.serverKeyPEM)),
                "does not belong to the chain"
            ),
        ]
        for (options, text) in invalid {
            let error = try #require(throws: NetworkError.self) { try options.validate() }
            #expect(error.code == .invalidOption)
            #expect(error.message.contains(text), "\(error)")
            #expect(!"\(error)".contains("a secret"))
        }
        let shown = TLSOptions.ClientCertificate(certificateChain: pem, privateKey: "a secret")
        var dumped = ""
        dump(TLSOptions(clientCertificate: shown), to: &dumped)
        #expect(!"\(shown) \(String(reflecting: shown)) \(dumped)".contains("a secret"))
    }
}
