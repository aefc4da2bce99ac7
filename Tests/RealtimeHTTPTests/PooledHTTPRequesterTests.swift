import NIOHTTP1
import RealtimeHTTP
import RealtimeNetworking
import SocketTestSupport
import TestTraits
import Testing

@Suite("HTTP requests", .limited)
struct PooledHTTPRequesterTests {
    let requester = PooledHTTPRequester.patient(tls: TLSOptions())

    @Test("the server gets method, address, header fields and body unchanged")
    func request() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(201, ["X-Kind": "test"], "{}")
        } _: { server in
            let response = try await requester.response(
                to: .to(
                    server.url + "/auth/%C3%A9?a=1&b=%20",
                    method: "PUT",
                    headers: ["X-One": "1", "x-two": "é", "X-One": "2"],
                    body: "socket_id=1.1"
                )
            )
            #expect(response.status == 201)
            #expect(response.headers["x-kind"] == "test")
            #expect(response.body == Array("{}".utf8))
            #expect(!response.isCut)
            let request = try #require(server.requests.first)
            #expect(request.method == "PUT")
            #expect(request.uri == "/auth/%C3%A9?a=1&b=%20")
            #expect(request.headers["X-One"] == ["1", "2"])
            #expect(request.headers["X-Two"] == ["é"])
            #expect(request.headers["Content-Length"] == ["13"])
            #expect(request.headers["Host"] == ["127.0.0.1:\(server.port)"])
            #expect(request.body == "socket_id=1.1")
        }
    }

    @Test("a request asks for an uncompressed answer, and the user in the URL becomes Basic authorization")
    func prepared() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let url = server.url.replacing("http://", with: "http://ada:a%40b@") + "/auth?a=%20"
            _ = try await requester.response(to: .to(url))
            _ = try await requester.response(to: .to(url, headers: ["authorization": "own", "accept-encoding": "br"]))
            let requests = server.requests
            #expect(requests.map(\.uri) == ["/auth?a=%20", "/auth?a=%20"])
            #expect(requests.map { $0.headers["Authorization"] } == [["Basic YWRhOmFAYg=="], ["own"]])
            #expect(requests.map { $0.headers["Accept-Encoding"] } == [["identity"], ["br"]])
        }
    }

    @Test("the body alone determines the fields of the request's length")
    func length() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let fields: HTTPFields = ["Content-Length": "99", "Transfer-Encoding": "chunked"]
            _ = try await requester.response(to: .to(server.url, headers: fields, body: "hi"))
            let request = try #require(server.requests.first)
            #expect(request.headers["Content-Length"] == ["2"])
            #expect(request.headers["Transfer-Encoding"] == [])
            #expect(request.body == "hi")
        }
    }

    @Test("a GET has no body and no Content-Length")
    func get() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200)
        } _: { server in
            let response = try await requester.response(to: .to(server.url, method: "GET", body: nil))
            #expect(response == HTTPResponse(status: 200, headers: ["Content-Length": "0"]))
            #expect(server.requests.first?.headers["Content-Length"] == [])
        }
    }

    @Test(
        "the requester returns an answer with any status",
        arguments: [200, 204, 304, 400, 403, 404, 429, 500, 503, 599]
    )
    func status(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            .answer(status, ["Retry-After": "5"])
        } _: { server in
            let response = try await requester.response(to: .to(server.url))
            #expect(response.status == status)
            #expect(response.headers["Retry-After"] == "5")
        }
    }

    @Test("the requester reads an answer in chunks")
    func chunks() async throws {
        try await HTTPTestServer.serving { _ in
            .chunks(["{", "\"a\":", "1}"])
        } _: { server in
            let response = try await requester.response(to: .to(server.url))
            #expect(String(decoding: response.body, as: UTF8.self) == #"{"a":1}"#)
        }
    }

    @Test("the requester truncates a body at the limit, without reading the rest", arguments: [200, 403])
    func tooLarge(status: Int) async throws {
        try await HTTPTestServer.serving { _ in
            .endless(status: status)
        } _: { server in
            let response = try await requester.response(to: .to(server.url, maximumResponseSize: 10_000))
            #expect(response.status == status)
            #expect(response.isCut)
            #expect(response.body.count == 10_000)
            await server.nextEnd()
        }
    }

    @Test("the requester returns the whole body if its size is exactly the limit")
    func justFitting() async throws {
        try await HTTPTestServer.serving { _ in
            .answer(200, [:], "1234567890")
        } _: { server in
            let fitting = try await requester.response(to: .to(server.url, maximumResponseSize: 10))
            #expect(fitting.body.count == 10)
            #expect(!fitting.isCut)
            let cut = try await requester.response(to: .to(server.url, maximumResponseSize: 9))
            #expect(cut.body.count == 9)
            #expect(cut.isCut)
        }
    }

    @Test("the requester makes many requests at once")
    func many() async throws {
        try await HTTPTestServer.serving {
            .answer(200, [:], $0.body)
        } _: { server in
            try await withThrowingTaskGroup { group in
                for number in 0..<100 {
                    group.addTask {
                        let response = try await requester.response(to: .to(server.url, body: "\(number)"))
                        #expect(String(decoding: response.body, as: UTF8.self) == "\(number)")
                    }
                }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 100)
        }
    }

    @Test(
        "the requester does not send an invalid request",
        arguments: [
            ("", "not a URL"), ("/pusher/auth", "not an http"), ("example.com", "not an http"),
            ("ftp://example.com", "not an http"), ("file:///etc/passwd", "not an http"),
            ("http+unix://socket/a", "not an http"), ("http://", "has no host"), ("https:///a", "has no host"),
            ("http://127.0.0.1:0", "port"), ("http://127.0.0.1:65536", "port"),
        ]
    )
    func invalid(url: String, why: String) async throws {
        let error = await requester.failure(.to(url))
        #expect(error?.kind == .invalidRequest)
        #expect(error?.message.contains(why) == true)
    }

    @Test("the requester rejects an invalid method, and rejects an invalid header field without showing its value")
    func invalidHeaders() async throws {
        #expect(await requester.failure(.to("http://a", method: "PO ST"))?.message == "'PO ST' is not an HTTP method")
        #expect(await requester.failure(.to("http://a", method: ""))?.kind == .invalidRequest)
        for name in ["", "a b", "a:b", "é", "a\r\nb"] {
            #expect(await requester.failure(.to("http://a", headers: [name: "secret"]))?.kind == .invalidRequest)
        }
        for value in ["secret\r\nX: y", "secret\n", "secret\u{0}", "secret\u{7F}"] {
            let error = await requester.failure(.to("http://a", headers: ["X-Token": value]))
            #expect(error?.kind == .invalidRequest)
            #expect(error?.message.contains("X-Token") == true)
            #expect(error?.message.contains("secret") == false)
        }
    }
}
