import NIOHTTP1
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestTLS
import TestTraits
import Testing

@Suite("HTTP redirects", .limited)
struct RedirectTests {
    let requester = PooledHTTPRequester.patient(tls: TLSOptions())
    static let headers: HTTPFields = [
        "Authorization": "Bearer token", "Cookie": "a=b", "X-Custom": "1", "Content-Type": "text/plain",
    ]

    @Test("a POST remains a POST after a redirect, with its body and its headers", arguments: [301, 302, 307, 308])
    func sameMethod(status: Int) async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/a/old" ? .redirect(status, "new?x=1") : .answer(200, [:], "there")
        } _: { server in
            let response = try await requester.response(to: .to(server.url + "/a/old", headers: Self.headers))
            #expect(String(decoding: response.body, as: UTF8.self) == "there")
            #expect(response.url == server.url + "/a/new?x=1")
            let request = try #require(server.requests.last)
            #expect(request.uri == "/a/new?x=1")
            #expect(request.method == "POST")
            #expect(request.body == "a=b")
            for field in Self.headers.fields { #expect(request.headers[field.name] == [field.value]) }
        }
    }

    @Test("the error after a redirect names the URL that failed")
    func failsElsewhere() async throws {
        try await HTTPTestServer.serving { request in
            request.uri == "/old" ? .redirect(307, "/new") : .redirect(307, "ftp://example.com")
        } _: { server in
            let error = await requester.failure(.to(server.url + "/old"))
            #expect(error?.kind == .redirectRefused)
            #expect(error?.url == server.url + "/new")
            let other = await requester.failure(.to(server.url + "/new"))
            #expect(other?.kind == .redirectRefused)
            #expect(other?.url == nil)
        }
    }

    @Test("the requester sends a GET without a body after status 303")
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

    @Test(
        "the requester rejects a redirect to another host or port, and sends nothing there",
        arguments: [301, 302, 303, 307, 308]
    )
    func otherOrigin(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { target in
            for place in ["http://127.0.0.1:\(target.port)", "http://localhost:\(target.port)"] {
                try await HTTPTestServer.serving { _ in
                    .redirect(status, place + "/x?token=secret")
                } _: { server in
                    let error = await requester.failure(.to(server.url + "/a?key=secret", headers: Self.headers))
                    #expect(error?.kind == .redirectRefused)
                    #expect(error?.message.contains("from \(server.url) to \(place), which is another origin") == true)
                    #expect(error?.message.contains("secret") == false)
                    #expect(server.requests.count == 1)
                }
            }
            #expect(target.requests.isEmpty)
        }
    }

    private func target(from url: String, to location: String) throws(HTTPRequestError) -> HTTPRequest? {
        try Redirect.target(
            of: HTTPResponse(status: 307, headers: ["Location": location]),
            to: .to(url, headers: Self.headers)
        )
    }

    @Test(
        "the requester recognizes a redirect within the origin in any spelling, and sends the whole request",
        arguments: [
            ("http://a.test/x", "http://A.test:80/y"), ("https://a.test/x", "HTTPS://a.test:443/y"),
            ("https://a.test:8443/x", "/y"), ("https://A.test:8443/x", "//a.test:8443/y"),
            ("http://[::1]:80/x", "http://[::1]/y"), ("http://a.test/x", "http://user:secret@a.test/y"),
        ]
    )
    func sameOrigin(url: String, location: String) throws {
        let target = try #require(try target(from: url, to: location))
        #expect(target.url.hasSuffix("/y"))
        #expect(target.body == Array("a=b".utf8))
        #expect(target.headers == Self.headers)
    }

    @Test(
        "the error names both origins if scheme, host or port differ",
        arguments: [
            ("http://a.test/x", "https://a.test/x", "http://a.test to https://a.test,"),
            ("https://a.test/x", "http://a.test/x", "https://a.test to http://a.test,"),
            ("https://a.test/x", "http://a.test:443/x", "https://a.test to http://a.test:443,"),
            ("https://a.test/x", "//b.test/x", "https://a.test to https://b.test,"),
            ("https://a.test/x", "https://www.a.test/x", "https://a.test to https://www.a.test,"),
            ("https://a.test/x", "https://a.test:8443/x", "https://a.test to https://a.test:8443,"),
            ("https://a.test:8443/x", "https://a.test/x", "https://a.test:8443 to https://a.test,"),
            ("https://a.test/x", "https://a.test:secret@b.test/", "https://a.test to https://b.test,"),
            ("http://127.0.0.1/x", "http://[::1]/x", "http://127.0.0.1 to http://[::1],"),
        ]
    )
    func otherOrigins(url: String, location: String, words: String) throws {
        let error = #expect(throws: HTTPRequestError.self) { try target(from: url, to: location) }
        #expect(error?.kind == .redirectRefused)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
        #expect(error?.message.contains("secret") == false)
    }

    @Test("the requester follows five redirects, but not six", arguments: [5, 6])
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
                #expect(error?.message == "the server redirects more than 5 times")
            }
            #expect(server.requests.count == 6)
        }
    }

    @Test(
        "the requester does not follow a redirect to an invalid URL",
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

    @Test(
        "the requester returns 3xx answers that are not redirects to a location",
        arguments: [300, 301, 302, 304, 305, 308]
    )
    func noLocation(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            status == 300 || status > 303 && status < 307 ? .redirect(status, "/new") : .answer(status)
        } _: { server in
            let reached = try await requester.status(.to(server.url))
            #expect(reached == status)
            #expect(server.requests.count == 1)
        }
    }

    // MARK: Redirects to any origin

    private func target(
        _ status: Int,
        from url: String,
        to location: String,
        body: String? = nil,
        _ rules: Redirect.Rules
    ) throws(HTTPRequestError) -> HTTPRequest? {
        let headers: HTTPFields = [
            "accept": "a", "Cache-Control": "c", "Last-Event-ID": "l", "Authorization": "s", "X-Api-Key": "s",
            "Host": "s",
        ]
        return try Redirect.target(
            of: HTTPResponse(status: status, headers: ["Location": location]),
            to: .to(url, headers: headers, body: body),
            rules
        )
    }

    @Test("another origin gets only safe and allowed header fields, and the same origin gets all")
    func headersOfOtherOrigins() throws {
        let rules = Redirect.Rules.anyOrigin(leavesTLS: false, headers: ["x-API-key", "HOST"])
        let other = try target(307, from: "https://a.test/x", to: "https://b.test/x", rules)
        #expect(other?.headers.fields.map(\.name) == ["accept", "Cache-Control", "Last-Event-ID", "X-Api-Key"])
        let strict = Redirect.Rules.anyOrigin(leavesTLS: false)
        let stranger = try target(307, from: "https://a.test/x", to: "https://a.test:444/x", strict)
        #expect(stranger?.headers.fields.map(\.name) == ["accept", "Cache-Control", "Last-Event-ID"])
        let own = try target(307, from: "https://a.test/x", to: "https://A.test:443/y", body: "b", strict)
        #expect(own?.headers.fields.count == 6 && own?.body == Array("b".utf8))
    }

    @Test(
        "another origin gets no body",
        arguments: [(301, true), (302, true), (303, true), (307, false), (308, false)]
    )
    func bodyOfOtherOrigins(status: Int, isFollowed: Bool) throws {
        let rules = Redirect.Rules.anyOrigin(leavesTLS: false)
        let move = { (body: String?) throws(HTTPRequestError) in
            try target(status, from: "https://a.test/x", to: "https://b.test/x", body: body, rules)
        }
        if isFollowed {
            let target = try move("secret")
            #expect(target?.method == "GET" && target?.body == nil)
        } else {
            let error = #expect(throws: HTTPRequestError.self) { try move("secret") }
            #expect(error?.kind == .redirectRefused)
            #expect(error?.message.contains("from https://a.test to https://b.test") == true)
            #expect(try move("") != nil)
        }
    }

    @Test("a redirect leaves TLS only if the option allows this", arguments: [true, false])
    func leavingTLS(isAllowed: Bool) throws {
        let rules = Redirect.Rules.anyOrigin(leavesTLS: isAllowed)
        if isAllowed {
            #expect(try target(307, from: "https://a.test/x", to: "http://a.test/x", rules)?.url == "http://a.test/x")
        } else {
            let error = #expect(throws: HTTPRequestError.self) {
                try target(307, from: "https://a.test/x", to: "http://a.test/x", rules)
            }
            #expect(error?.message.hasSuffix("which is not encrypted") == true)
        }
    }

    // MARK: Pins

    @Test("a redirect to a server whose key is not pinned sends that server nothing")
    func pins() async throws {
        let certificates = TestCertificates()
        let others = TestCertificates.ofAnotherAuthority
        try await HTTPTestServer.serving(tls: try others.serverContext) { _ in
            .answer(200)
        } _: { other in
            let far = "https://localhost:\(other.port)/far"
            try await HTTPTestServer.serving(tls: try certificates.serverContext) { request in
                if request.uri == "/near" { return .answer(200, [:], "near") }
                return .redirect(302, far)
            } _: { server in
                let pinned = PooledHTTPRequester.patient(
                    tls: TLSOptions(
                        trustRoots: .only(pem: certificates.rootPEM + "\n" + others.rootPEM),
                        pins: [certificates.serverPin]
                    )
                )
                let url = "https://localhost:\(server.port)"
                let near = await pinned.streamed(.to(url + "/near", method: "GET", body: nil))
                #expect(near.error == nil && near.body == "near")
                let error = await pinned.streamed(.to(url + "/", method: "GET", body: nil)).error
                #expect(error?.kind == .pinMismatch)
                #expect(error?.isUnsent == true)
                #expect(error?.message.contains("sha256/\(others.serverPin)") == true)
                #expect(error?.url == far)
                #expect(other.requests.isEmpty)
                let plain = await pinned.failure(.to("http://127.0.0.1:\(server.port)/a?token=secret"))
                #expect(plain?.kind == .invalidRequest)
                #expect(plain?.message.contains("has no TLS") == true)
                #expect(server.requests.count == 2)
            }
        }
    }
}
