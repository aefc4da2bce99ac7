import NIOCore
import NIOSSL
import RealtimeNetworking
import SocketTestSupport
import TestSupport
import TestTLS
import TestTraits
import Testing
import WebSocketClient

@Suite("WebSockets over TLS", .limited)
struct WebSocketTLSTests {
    @Test("accepts only a certificate for the name or address of the host", arguments: ["localhost", "127.0.0.1"])
    func full(host: String) async throws {
        let right = TestCertificates()
        let roots = TLSOptions(trustRoots: .only(pem: right.rootPEM))
        #expect(try await failure(right, host: host, roots) == nil)
        let more = TLSOptions(trustRoots: .systemAnd(pem: right.rootPEM))
        #expect(try await failure(right, host: host, more) == nil)

        let wrong = TestCertificates(.exampleWithAddress)
        let wrongRoots = TLSOptions(trustRoots: .only(pem: wrong.rootPEM))
        #expect(
            try await failure(wrong, host: host, wrongRoots)?.contains("the certificate is not for '\(host)'") == true
        )
    }

    @Test("the client rejects an untrusted authority")
    func unknownAuthority() async throws {
        let certificates = TestCertificates()
        let expected = "not from a trusted authority"
        #expect(try await failure(certificates, TLSOptions())?.contains(expected) == true)
        let others = TLSOptions(trustRoots: .only(pem: TestCertificates.ofAnotherAuthority.rootPEM))
        #expect(try await failure(certificates, others)?.contains(expected) == true)
        let unnamed = TLSOptions(certificateVerification: .noHostnameVerification)
        #expect(try await failure(certificates, unnamed)?.contains(expected) == true)
    }

    @Test("the client rejects an expired certificate, and the error says that it has expired")
    func expired() async throws {
        let certificates = TestCertificates(.expired)
        let options = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
        #expect(try await failure(certificates, options)?.contains("the certificate has expired") == true)
    }

    @Test("the client checks the authority even if it does not check the host name")
    func noHostnameVerification() async throws {
        let certificates = TestCertificates(.example)
        let options = TLSOptions(
            trustRoots: .only(pem: certificates.rootPEM),
            certificateVerification: .noHostnameVerification
        )
        #expect(try await failure(certificates, options) == nil)
    }

    @Test("the client accepts any certificate with the insecure option")
    func insecure() async throws {
        let certificates = TestCertificates(.expiredExample)
        let options = TLSOptions(certificateVerification: .insecurelyTrustAnyCertificate)
        #expect(try await failure(certificates, options) == nil)
    }

    @Test(
        "invalid trust roots throw at once",
        arguments: ["", "rubbish", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
    )
    func invalidPEM(pem: String) {
        for roots in [.systemAnd(pem: pem), .only(pem: pem)] as [TLSOptions.TrustRoots] {
            let options = TLSOptions(trustRoots: roots)
            let error = #expect(throws: NetworkError.self) { try options.validate() }
            #expect(error?.code == .invalidOption)
        }
    }

    @Test("the attempt fails at a port without TLS")
    func noTLS() async throws {
        try await withScriptedServer { peer in
            try await peer.write("HTTP/1.1 400 Bad Request\r\n\r\n")
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(.init(host: "127.0.0.1", port: port, useTLS: true, path: "/"))
            let end = try #require(await socket.next())
            #expect(
                end.error == .tlsFailed && end.message.contains("does not speak TLS on that port."),
                "\(end)"
            )
            #expect(try await socket.abort() == [])
        }
    }

    @Test("if a server answers with TLS to a client without TLS, the error names useTLS")
    func onlyTLS() async throws {
        let alert: [UInt8] = [0x15, 3, 3, 0, 2, 2, 10]
        for answer in [alert, []] {
            try await withScriptedServer { peer in
                _ = await peer.readUpgrade()
                if !answer.isEmpty { try await peer.write(answer) }
            } _: { port in
                let socket = try SocketUnderTest(.init(host: "127.0.0.1", port: port, useTLS: false, path: "/"))
                let end = try #require(await socket.next())
                #expect(end.error == .upgradeFailed)
                #expect(end.message.contains("useTLS") != answer.isEmpty, "\(end)")
                #expect(try await socket.abort() == [])
            }
        }
    }

    @Test("the attempt fails if the server closes the connection during the handshake")
    func endedDuringHandshake() async throws {
        try await withScriptedServer { _ in
        } _: { port in
            let socket = try SocketUnderTest(.init(host: "127.0.0.1", port: port, useTLS: true, path: "/"))
            let end = try #require(await socket.next())
            #expect(end.error == .tlsFailed && !end.message.contains("useTLS"), "\(end)")
            #expect(try await socket.abort() == [])
        }
    }

    @Test("one connector opens several connections that exchange messages and close normally")
    func conversation() async throws {
        let certificates = TestCertificates()
        let options = TLSOptions(trustRoots: .only(pem: certificates.rootPEM))
        let connector = WebSocketConnector(
            with(WebSocketOptions()) {
                $0.closeTimeout = .seconds(3600); $0.tls = options
            }
        )
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            try await peer.acceptUpgrade(followedBy: serverFrame(1, "over TLS"))
            #expect(await peer.readFrame() == .init(opcode: 1, payload: Array("answer".utf8)))
            try await peer.write(serverFrame(8, [0x0F, 0xA1]))
            #expect(await peer.readFrame() == .close(4001))
        } _: { port in
            for _ in 0..<3 {
                let socket = try SocketUnderTest(
                    .init(host: "localhost", port: port, useTLS: true, path: "/"),
                    connector: connector
                )
                #expect(await socket.nextOutcome() == .opened)
                #expect(await socket.nextOutcome() == .text("over TLS"))
                try await socket.perform {
                    $0.send("answer", promise: nil)
                    $0.flush()
                }
                #expect(await socket.nextOutcome() == .closed(WebSocketClosure(code: 4001)))
            }
        }
    }

    /// Returns the reason why the client could not open the connection, or nil if it opened the connection.
    private func failure(
        _ certificates: TestCertificates,
        host: String = "127.0.0.1",
        _ options: TLSOptions
    ) async throws -> String? {
        var failure: String? = "nothing was reported"
        try await withScriptedServer(tls: certificates.serverContext) { peer in
            try await peer.acceptUpgrade()
            await peer.readToEnd()
        } _: { port in
            let socket = try SocketUnderTest(
                .init(host: host, port: port, useTLS: true, path: "/"),
                options: with(WebSocketOptions()) { $0.tls = options }
            )
            switch await socket.nextOutcome() {
            case .opened: failure = nil
            case .closed(let closure):
                #expect(closure.error?.code == .tlsFailed)
                failure = closure.error?.message
            default: break
            }
            _ = try await socket.abort()
        }
        return failure
    }
}
