import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import SocketTestSupport
import TestSupport
import Testing

@testable import PusherTestServer

@Suite("Web pages of other origins (CORS)", .timeLimit(.minutes(5)))
struct CrossOriginTests {
    private static let form = "socket_id=1.1&channel_name=private-x"

    private static func preflight(_ path: String, from origin: String, _ fields: String = "") -> String {
        "OPTIONS \(path) HTTP/1.1\r\nHost: a\r\nOrigin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n\(fields)\r\n"
    }

    private static func post(_ path: String = "/pusher/auth", _ fields: String = "", body: String = form) -> String {
        "POST \(path) HTTP/1.1\r\nHost: a\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    @Test(
        "the server allows pages of this machine on every port, with http and https",
        arguments: [
            "http://localhost", "https://localhost", "http://localhost:3000", "https://localhost:65535",
            "http://127.0.0.1", "https://127.0.0.1:8443", "http://[::1]", "http://[::1]:5173",
        ]
    )
    func localOrigins(origin: String) throws {
        #expect(CrossOriginPolicy.isLocal(origin))
        let client = try EmbeddedConnection()
        try client.send(Self.post("/pusher/auth", "Origin: \(origin)\r\n"))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("\r\nAccess-Control-Allow-Origin: \(origin)\r\n"))
        #expect(answer.contains("\r\nAccess-Control-Allow-Credentials: true\r\n"))
        #expect(answer.contains("\r\nVary: Origin\r\n"))
    }

    @Test(
        "the server does not allow pages of other machines",
        arguments: [
            "https://example.com", "http://localhost.example.com", "http://localhost:", "http://localhost:80x",
            "http://localhost:65536", "http://localhost:+80", "http://localhost:80:80", "http://localhost@example.com",
            "http://localhost/", "http://127.0.0.1.example.com", "http://127.0.0.2", "http://[::1].example.com",
            "http://[::2]", "http://::1", "ftp://localhost", "localhost", "http://", "null", "*", "",
        ]
    )
    func otherOrigins(origin: String) throws {
        #expect(!CrossOriginPolicy.isLocal(origin))
        let client = try EmbeddedConnection()
        try client.send(Self.post("/pusher/auth", "Origin: \(origin)\r\n"))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.contains("\r\nVary: Origin\r\n"))
        #expect(!answer.contains("Access-Control"))
        try client.send(Self.preflight("/pusher/auth", from: origin))
        let refusal = try client.received()
        #expect(refusal.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && !refusal.contains("Access-Control"))
        #expect(refusal.hasSuffix("origin \"\(origin)\" is not allowed: add it to allowedOrigins"))
    }

    @Test("allowedOrigins adds origins, which the server echoes unchanged")
    func allowedOrigins() throws {
        let client = try EmbeddedConnection { $0.allowedOrigins = ["https://App.example.test", "null"] }
        for origin in ["https://app.example.test", "null", "http://localhost:1"] {
            try client.send(Self.preflight("/pusher/auth", from: origin) + Self.post("/x", "Origin: \(origin)\r\n"))
            let answers = try client.received()
            let allowed = "\r\nAccess-Control-Allow-Origin: \(origin)\r\n"
            #expect(answers.ranges(of: allowed).count == 2)
        }
        for origin in ["https://app.example.test:444", "http://app.example.test", "https://example.test"] {
            try client.send(Self.preflight("/pusher/auth", from: origin))
            #expect(try client.statuses() == [403])
        }
    }

    @Test(
        "the server answers a preflight on every path, with the requested header names",
        arguments: ["/pusher/auth", "/pusher/user-auth", "/apps/1/events", "/apps/1/channels?auth_key=x", "/nothing"]
    )
    func preflights(path: String) throws {
        let client = try EmbeddedConnection()
        let fields = "Access-Control-Request-Headers: authorization,x-csrf-token\r\n"
        try client.send(Self.preflight(path, from: "http://localhost:3000", fields))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 204 No Content\r\n"))
        for field in [
            "Access-Control-Allow-Origin: http://localhost:3000", "Access-Control-Allow-Credentials: true",
            "Access-Control-Allow-Methods: GET, POST", "Access-Control-Allow-Headers: authorization,x-csrf-token",
            "Access-Control-Max-Age: 600", "Vary: Origin",
        ] {
            #expect(answer.contains("\r\n\(field)\r\n"))
        }
        #expect(!answer.contains("*") && !answer.contains("Content-Length"))
        try client.send(Self.preflight(path, from: "http://localhost:3000"))
        #expect(try !client.received().contains("Access-Control-Allow-Headers"))
        #expect(client.isOpen)
    }

    @Test("the server records a preflight, but does not treat it as an authorization request")
    func preflightsAndFaults() throws {
        let client = try EmbeddedConnection()
        client.server.failAuthorizations(1, with: .status(503, headers: [.init(name: "Retry-After", value: "1")]))
        try client.send(Self.preflight("/pusher/auth", from: "http://localhost"))
        #expect(try client.statuses() == [204])
        guard case .requestAnswered(let request, 204) = client.server.records.last?.event else {
            Issue.record("not recorded")
            return
        }
        #expect(request.method == "OPTIONS" && client.server.authorizationRequests.isEmpty)
        try client.send(Self.post("/pusher/auth", "Origin: http://localhost\r\n"))
        let answer = try client.received()
        #expect(answer.hasPrefix("HTTP/1.1 503 ") && answer.contains("\r\nRetry-After: 1\r\n"))
        #expect(answer.contains("\r\nAccess-Control-Allow-Origin: http://localhost\r\n"))
    }

    @Test("an allowed page may also read the server's refusals")
    func refusals() throws {
        let allowed = "\r\nAccess-Control-Allow-Origin: http://localhost\r\n"
        let origin = "Origin: http://localhost\r\n"
        for (request, status) in [
            (Self.post("/nothing", origin), 404), (Self.post("/apps/1/events", origin), 401),
            (Self.post("/pusher/auth", origin, body: ""), 400),
            (Self.post("/pusher/auth", origin, body: String(repeating: "x", count: 101)), 413),
            ("POST /x HTTP/1.1\r\nHost: a\r\n\(origin)Content-Length: 1\r\n\r\n", 408),
        ] {
            let client = try EmbeddedConnection { $0.maximumRequestSize = 100 }
            try client.send(request)
            client.advance(by: .seconds(30))
            let answer = try client.received()
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && answer.contains(allowed))
        }
    }

    @Test("CORS does not replace a header field that a fault sets")
    func ownFields() throws {
        let client = try EmbeddedConnection()
        let field = Request.Header(name: "access-control-allow-origin", value: "https://wrong.example.test")
        client.server.failAuthorizations(1, with: .status(200, headers: [field]))
        try client.send(Self.post("/pusher/auth", "Origin: http://localhost\r\n"))
        let answer = try client.received().lowercased()
        #expect(answer.contains("access-control-allow-origin: https://wrong.example.test"))
        #expect(answer.ranges(of: "access-control-allow-origin").count == 1)
    }

    @Test("CORS affects neither other clients nor other OPTIONS requests")
    func withoutOrigin() throws {
        let client = try EmbeddedConnection()
        try client.send(Self.post())
        let answer = try client.received()
        #expect(answer.contains("\r\nVary: Origin\r\n") && !answer.contains("Access-Control"))
        try client.send("OPTIONS /pusher/auth HTTP/1.1\r\nHost: a\r\nOrigin: http://localhost\r\n\r\n")
        #expect(try client.statuses() == [405])
        try client.send(Self.preflight("/pusher/auth", from: "http://localhost", "Origin: http://localhost\r\n"))
        #expect(try client.statuses() == [405])
    }

    @Test("on a socket, a page sends a preflight and then gets an authorization")
    func onSocket() async throws {
        try await PusherTestServer.withServer { server in
            var preflight = HTTPClientRequest(url: server.httpURL + "/pusher/auth")
            preflight.method = .OPTIONS
            preflight.headers = [
                "Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization",
            ]
            let allowed = try await HTTPClient.patient.execute(preflight, timeout: .init(.patience))
            #expect(allowed.status == .noContent)
            #expect(allowed.headers.first(name: "Access-Control-Allow-Headers") == "authorization")
            var request = HTTPClientRequest(url: server.httpURL + "/pusher/auth")
            request.method = .POST
            request.headers = ["Origin": "http://localhost:3000", "Authorization": "Bearer t"]
            request.body = .bytes(ByteBuffer(string: Self.form))
            let response = try await HTTPClient.patient.execute(request, timeout: .init(.patience))
            #expect(response.status == .ok)
            #expect(response.headers["Access-Control-Allow-Origin"] == ["http://localhost:3000"])
            #expect(server.authorizationRequests.count == 1)
        }
    }
}
