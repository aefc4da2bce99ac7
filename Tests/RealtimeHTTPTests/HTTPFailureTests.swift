import NIOSSL
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import TestTraits
import Testing

@testable import RealtimeHTTP

@Suite("HTTP failures", .limited)
struct HTTPFailureTests {
    let requester = PooledHTTPRequester.patient(tls: TLSOptions())

    @Test(
        "the timeout covers the whole request: head, body and redirects",
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

    @Test("a timeout of zero fails at once", arguments: [Duration.zero, .seconds(-1)])
    func noTime(timeout: Duration) async throws {
        try await HTTPTestServer.serving { _ in
            .nothing
        } _: { server in
            #expect(await requester.failure(.to(server.url, timeout: timeout))?.kind == .timedOut)
        }
    }

    @Test(
        "a timeout that exceeds the range of clocks does not trap",
        arguments: [Duration.seconds(Int64.max), .seconds(86_401)]
    )
    func endlessTime(timeout: Duration) async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let status = try await requester.status(.to(server.url, timeout: timeout))
            #expect(status == 200)
        }
    }

    @Test("the request fails if the connection is lost before the answer is complete")
    func closed() async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/short" ? .tooShort : .closing
        } _: { server in
            for path in ["/", "/short"] {
                let error = await requester.failure(.to(server.url + path))
                #expect(error?.kind == .failed)
                #expect(error?.cause != nil)
            }
            // The requester must not retry a POST, because the server may have carried it out.
            #expect(server.requests.count == 2)
        }
    }

    @Test(
        "the request fails if any part of the answer is not HTTP",
        arguments: ["not HTTP at all\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na, and more"]
    )
    func garbage(answer: String) async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write(answer)
            await peer.readToEnd()
        } _: { port in
            let error = await requester.failure(.to("http://127.0.0.1:\(port)", method: "GET", body: nil))
            #expect(error?.kind == .failed)
            #expect(error?.message == "the server's answer is not HTTP")
        }
    }

    @Test("the server ended an answer early that ends within its head")
    func endedEarly() async throws {
        try await withScriptedServer { peer in
            _ = await peer.readUpgrade()
            try await peer.write("HTTP/1.1 200 OK\r\nContent-Le")
        } _: { port in
            let error = await requester.failure(.to("http://127.0.0.1:\(port)", method: "GET", body: nil))
            #expect(error?.kind == .failed)
            #expect(error?.message == "the server ended the response early")
        }
    }

    @Test("the advice about TLS is for servers that were reached without TLS and did not answer with HTTP")
    func adviceAboutTLS() {
        var error = HTTPRequestError(.failed, "the server's answer is not HTTP")
        #expect(error.adviceAboutTLS(for: "HTTP://a") == " Use https if the port expects TLS.")
        #expect(error.adviceAboutTLS(for: "https://a").isEmpty)
        error.isUnsent = true
        #expect(error.adviceAboutTLS(for: "http://a").isEmpty)
    }

    @Test("the request fails if nothing listens on the port")
    func refused() async throws {
        // The test uses a port that no test binds, because another test could bind a released port.
        let error = await requester.failure(.to("http://127.77.0.1:9"))
        #expect(error?.kind == .failed)
        #expect(error?.message == "the host '127.77.0.1', port 9, was not reached (Connection refused)")
        #expect(error?.isUnsent == true)
    }

    @Test("the request fails if the host does not exist")
    func unresolvable() async throws {
        let error = await requester.failure(.to("http://nowhere.invalid/"))
        #expect(error?.kind == .failed)
        #expect(error?.message == "the host 'nowhere.invalid' could not be resolved")
    }

    @Test("the trust roots of the client also apply to requests")
    func tls() async throws {
        let certificates = TestCertificates()
        try await HTTPTestServer.serving(tls: try certificates.serverContext) { _ in
            .answer(200)
        } _: { server in
            let url = "https://localhost:\(server.port)/"
            let trusting = PooledHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
            let status = try await trusting.status(.to(url))
            #expect(status == 200)
            let careless = PooledHTTPRequester.patient(
                tls: TLSOptions(certificateVerification: .insecurelyTrustAnyCertificate)
            )
            #expect(try await careless.status(.to(url)) == 200)
            let others = PooledHTTPRequester.patient(
                tls: TLSOptions(trustRoots: .only(pem: TestCertificates.ofAnotherAuthority.rootPEM))
            )
            for requester in [requester, others] {
                let error = await requester.failure(.to(url))
                #expect(error?.kind == .failed)
                let place = "TLS with 'localhost', port \(server.port), failed"
                #expect(error?.message.hasPrefix("\(place): the certificate is not from a trusted authority") == true)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("the error for a TLS failure after the handshake does not mention the handshake")
    func afterHandshake() {
        let lost = RequestFailure.lost(NIOSSLError.uncleanShutdown, hasHead: false, through: nil)
        #expect(lost.message == "the connection was lost before the answer arrived")
        #expect(!(lost.cause is TLSFailure))
        let ended = RequestFailure.lost(NIOSSLError.uncleanShutdown, hasHead: true, through: nil)
        #expect(ended.message == "the server ended the response early")
        let garbled = RequestFailure.lost(BoringSSLError.sslError([]), hasHead: true, through: nil)
        #expect((garbled.cause as? TLSFailure)?.code == .corrupted)
    }

    @Test("the request fails if only one side uses TLS")
    func wrongScheme() async throws {
        let certificates = TestCertificates()
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

    @Test("the request fails if the trust roots are invalid")
    func invalidRoots() async throws {
        let requester = PooledHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: "nothing")))
        let error = await requester.failure(.to("https://localhost/"))
        #expect(error?.kind == .invalidRequest)
        #expect(error?.cause is NetworkError)
    }
}
