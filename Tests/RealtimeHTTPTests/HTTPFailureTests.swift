import NIOSSL
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import Testing

@testable import RealtimeHTTP

@Suite("HTTP failures", .timeLimit(.minutes(5)))
struct HTTPFailureTests {
    let requester = AsyncHTTPRequester.patient(tls: TLSOptions())

    @Test(
        "the time covers the whole of it: head, body and redirects",
        arguments: ["/silent", "/head", "/on", "/endless"]
    )
    func timeout(path: String) async throws {
        try await HTTPTestServer.serving { request in
            switch request.uri {
            case "/silent": .nothing
            case "/head": .headOnly
            case "/endless": .endless(status: 200)
            default: .redirect(307, "/silent")
            }
        } _: { server in
            let error = await requester.failure(
                .to(server.url + path, timeout: .milliseconds(100), maximumResponseSize: .max)
            )
            #expect(error?.kind == .timedOut)
            #expect(error?.message == "it took longer than 100 ms")
        }
    }

    @Test("no time at all is a timeout too", arguments: [Duration.zero, .seconds(-1)])
    func noTime(timeout: Duration) async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            #expect(await requester.failure(.to(server.url, timeout: timeout))?.kind == .timedOut)
        }
    }

    @Test("a time longer than clocks can count is no trap", arguments: [Duration.seconds(Int64.max), .seconds(86_401)])
    func endlessTime(timeout: Duration) async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let status = try await requester.status(.to(server.url, timeout: timeout))
            #expect(status == 200)
        }
    }

    @Test("a connection that ends before the answer is there")
    func closed() async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/short" ? .tooShort : .closing
        } _: { server in
            for path in ["/", "/short"] {
                let error = await requester.failure(.to(server.url + path))
                #expect(error?.kind == .failed)
                #expect(error?.cause != nil)
            }
            // No second try of its own: a POST may have done what it was to do.
            #expect(server.requests.count == 2)
        }
    }

    @Test("an answer that is no HTTP")
    func garbage() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write("not HTTP at all\r\n\r\n")
            await peer.readToEnd()
        } _: { port in
            let error = await requester.failure(.to("http://127.0.0.1:\(port)", method: "GET", body: nil))
            #expect(error?.kind == .failed)
        }
    }

    @Test("nobody listens")
    func refused() async throws {
        // A port that was given up could be another test's by now.
        let error = await requester.failure(.to("http://127.77.0.1:9"))
        #expect(error?.kind == .failed)
        #expect(error?.message == "no TCP connection could be made")
    }

    @Test("a host that does not exist")
    func unresolvable() async throws {
        let error = await requester.failure(.to("http://nowhere.invalid/"))
        #expect(error?.kind == .failed)
        #expect(error?.message == "its host could not be resolved")
    }

    @Test("the client's trust roots hold for requests too")
    func tls() async throws {
        let certificates = try TestCertificates()
        try await HTTPTestServer.serving(tls: try certificates.serverContext) { _ in
            .answer(200)
        } _: { server in
            let url = "https://localhost:\(server.port)/"
            let trusting = AsyncHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            #expect(try await trusting.status(.to(url)) == 200)
            let careless = AsyncHTTPRequester.patient(
                tls: TLSOptions(certificateVerification: .insecurelyTrustAnyCertificate)
            )
            #expect(try await careless.status(.to(url)) == 200)
            let others = AsyncHTTPRequester.patient(
                tls: TLSOptions(trustRoots: .only(pem: try TestCertificates().rootPEM))
            )
            for requester in [requester, others] {
                let error = await requester.failure(.to(url))
                #expect(error?.kind == .failed)
                #expect(error?.message.hasPrefix("TLS failed") == true)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("what goes wrong with TLS after the handshake is not said to be of the handshake")
    func afterHandshake() {
        let ended = RequestFailure.error(NIOSSLError.uncleanShutdown, through: nil)
        #expect(ended.message == "the connection ended before the answer was there")
        #expect(!(ended.cause is TLSFailure))
        let garbled = RequestFailure.error(BoringSSLError.sslError([]), through: nil)
        #expect((garbled.cause as? TLSFailure)?.reason == .corrupted)
        let refused = RequestFailure.error(NIOSSLError.handshakeFailed(.sslError([])), through: nil)
        #expect((refused.cause as? TLSFailure)?.reason == .other)
    }

    @Test("TLS to a server that speaks none, and the other way round")
    func wrongScheme() async throws {
        let certificates = try TestCertificates()
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let error = await requester.failure(.to("https://localhost:\(server.port)/"))
            #expect(error?.kind == .failed)
        }
        try await HTTPTestServer.serving(tls: try certificates.serverContext) { _ in
            .answer(200)
        } _: { server in
            let error = await requester.failure(.to(server.url))
            #expect(error?.kind == .failed)
        }
    }

    @Test("trust roots that are none")
    func invalidRoots() async throws {
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: "nothing")))
        let error = await requester.failure(.to("https://localhost/"))
        #expect(error?.kind == .invalidRequest)
        #expect(error?.cause is NetworkError)
    }
}
