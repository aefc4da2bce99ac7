import NIOHTTP1
import PusherClient
import TestTLS
import Testing

@Suite("HTTP redirects", .timeLimit(.minutes(5)))
struct RedirectTests {
    let requester = AsyncHTTPRequester.patient(tls: TLSOptions())
    static let headers: HTTPFields = [
        "Authorization": "Bearer token", "Cookie": "a=b", "X-Custom": "1", "Content-Type": "text/plain",
    ]

    @Test("a POST stays a POST, with its body and its headers", arguments: [301, 302, 307, 308])
    func sameMethod(status: Int) async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/a/old" ? .redirect(status, "new?x=1") : .answer(200, [:], "there")
        } _: { server in
            let response = try await requester.response(to: .to(server.url + "/a/old", headers: Self.headers))
            #expect(String(decoding: response.body, as: UTF8.self) == "there")
            let request = try #require(server.requests.last)
            #expect(request.uri == "/a/new?x=1")
            #expect(request.method == "POST")
            #expect(request.body == "a=b")
            for field in Self.headers.fields { #expect(request.headers[field.name] == [field.value]) }
        }
    }

    @Test("303 is followed by a GET without a body")
    func seeOther() async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/old" ? .redirect(303, "/new") : .answer(200)
        } _: { server in
            _ = try await requester.response(to: .to(server.url + "/old", headers: Self.headers))
            let request = try #require(server.requests.last)
            #expect(request.method == "GET")
            #expect(request.body == "")
            #expect(request.headers["Content-Type"] == [])
            #expect(request.headers["Authorization"] == ["Bearer token"])
        }
    }

    @Test("another host or port gets no Authorization and no Cookie", arguments: [301, 302, 303, 307, 308])
    func otherOrigin(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { target in
            for place in ["http://127.0.0.1:\(target.port)/x", "http://localhost:\(target.port)/x"] {
                try await HTTPTestServer.serving { _ in
                    .redirect(status, place)
                } _: { server in
                    let headers = Self.headers
                    let response = try await requester.response(to: .to(server.url, headers: headers))
                    #expect(response.status == 200)
                    let request = try #require(target.requests.last)
                    #expect(request.headers["Authorization"] == [])
                    #expect(request.headers["Cookie"] == [])
                    #expect(request.headers["X-Custom"] == ["1"])
                    #expect(request.headers["Host"].first?.hasSuffix(":\(target.port)") == true)
                    #expect(request.body == (status == 303 ? "" : "a=b"))
                }
            }
        }
    }

    @Test("five redirects are followed, six are not", arguments: [5, 6])
    func limit(count: Int) async throws {
        try await HTTPTestServer.serving { request in
            let number = Int(request.uri.dropFirst()) ?? 0
            return number < count ? .redirect(307, "/\(number + 1)") : .answer(200)
        } _: { server in
            if count == 5 {
                let reached = try await requester.status(.to(server.url + "/0"))
                #expect(reached == 200)
            } else {
                let error = await requester.failure(.to(server.url + "/0"))
                #expect(error?.kind == .redirectRefused)
                #expect(error?.message == "it redirects more than 5 times")
            }
            #expect(server.requests.count == 6)
        }
    }

    @Test(
        "it goes to http and https only, and to no name in brackets",
        arguments: [
            "ftp://example.com/a", "file:///etc/passwd", "http://", "javascript:alert(1)", "//:0/",
            "http://[example.com]/a", "//[127.0.0.1]/",
        ]
    )
    func otherSchemes(location: String) async throws {
        try await HTTPTestServer.serving { _ in
            .redirect(302, location)
        } _: { server in
            let error = await requester.failure(.to(server.url))
            #expect(error?.kind == .redirectRefused)
            #expect(server.requests.count == 1)
        }
    }

    @Test("a redirect without a place to go, and other 3xx, are the answer", arguments: [300, 301, 302, 304, 305, 308])
    func noLocation(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            status == 300 || status > 303 && status < 307 ? .redirect(status, "/new") : .answer(status)
        } _: { server in
            let reached = try await requester.status(.to(server.url))
            #expect(reached == status)
            #expect(server.requests.count == 1)
        }
    }

    @Test("from https it does not go to http")
    func downgrade() async throws {
        let certificates = try TestCertificates()
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { plain in
            let location = plain.url
            try await HTTPTestServer.serving(tls: try certificates.serverContext) { _ in
                .redirect(307, location)
            } _: {
                server in
                let error = await requester.failure(.to("https://localhost:\(server.port)"))
                #expect(error?.kind == .redirectRefused)
                #expect(error?.message == "it redirects from https to http, which anybody could read")
                #expect(plain.requests.isEmpty)
            }
        }
    }

    @Test("it goes from http to https")
    func upgrade() async throws {
        let certificates = try TestCertificates()
        let requester = AsyncHTTPRequester.patient(tls: TLSOptions(trustRoots: .only(pem: certificates.rootPEM)))
        try await HTTPTestServer.serving(tls: try certificates.serverContext) { _ in
            .answer(200)
        } _: { target in
            let location = "https://127.0.0.1:\(target.port)/"
            try await HTTPTestServer.serving { _ in
                .redirect(301, location)
            } _: { server in
                let reached = try await requester.status(.to(server.url, headers: Self.headers))
                #expect(reached == 200)
                #expect(target.requests.first?.headers["Authorization"] == [])
                #expect(target.requests.first?.method == "POST")
            }
        }
    }
}
