import NIOCore
import NIOEmbedded
import NIOHTTP1
import RealtimeHTTP
import RealtimeNetworking
import RealtimeTestHTTP
import SocketTestSupport
import TestSupport
import TestTraits
import Testing

@testable import PusherTestServer

@Suite("Web pages of other origins (CORS)", .limited)
struct CrossOriginTests {
    private static let form = "socket_id=1.1&channel_name=private-x"

    private static func preflight(_ path: String, from origin: String, _ fields: String = "") -> String {
        "OPTIONS \(path) HTTP/1.1\r\nHost: localhost\r\nOrigin: \(origin)\r\nAccess-Control-Request-Method: POST\r\n\(fields)\r\n"
    }

    private static func post(_ path: String = "/pusher/auth", _ fields: String = "", body: String = form) -> String {
        "POST \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
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
        "the server refuses requests, preflights and upgrades of pages of other machines",
        arguments: [
            "https://example.com", "http://localhost.example.com", "http://localhost:", "http://localhost:80x",
            "http://localhost:65536", "http://localhost:+80", "http://localhost:80:80", "http://localhost@example.com",
            "http://localhost/", "http://127.0.0.1.example.com", "http://127.0.0.2", "http://[::1].example.com",
            "http://[::2]", "http://::1", "ftp://localhost", "localhost", "http://", "null", "*", "",
        ]
    )
    func otherOrigins(origin: String) throws {
        #expect(!CrossOriginPolicy.isLocal(origin))
        let requests = [
            Self.post("/pusher/auth", "Origin: \(origin)\r\n"), Self.post("/apps/1/events", "Origin: \(origin)\r\n"),
            Self.preflight("/pusher/auth", from: origin),
            RequestLimitTests.upgrade.replacing(
                "Host: localhost\r\n",
                with: "Host: localhost\r\nOrigin: \(origin)\r\n"
            ),
        ]
        for request in requests {
            let client = try EmbeddedConnection()
            try client.send(request)
            let refusal = try client.received()
            #expect(refusal.hasPrefix("HTTP/1.1 403 Forbidden\r\n") && !refusal.contains("Access-Control"))
            #expect(refusal.contains("\r\nVary: Origin\r\n"))
            #expect(
                refusal.hasSuffix(
                    "origin \"\(origin)\" is not allowed: add it to allowedOrigins (pusher serve: --allow-origin)"
                )
            )
            client.channel.embeddedEventLoop.run()
            #expect(client.server.connections.isEmpty && client.server.authorizationRequests.isEmpty)
            guard case .requestAnswered(_, 403) = client.server.records.last?.event else {
                Issue.record("not recorded")
                return
            }
        }
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
            let client = try EmbeddedConnection { $0.allowedOrigins = ["https://App.example.test", "null"] }
            try client.send(Self.preflight("/pusher/auth", from: origin))
            #expect(try client.statuses() == [403])
        }
    }

    @Test("a client may send the server's own IP address as the origin, but no other address")
    func ownOrigin() throws {
        for (host, origin, status) in [
            ("192.168.1.5:6001", "http://192.168.1.5:6001", 200), ("[fe80::1]:6001", "http://[fe80::1]:6001", 200),
            ("192.168.1.5:6001", "http://192.168.1.5", 403), ("192.168.1.5:6001", "http://192.168.1.6:6001", 403),
            // A page can have a name of its own that leads to this machine, and a browser sends the name in both fields.
            ("evil.test:6001", "http://evil.test:6001", 403),
        ] {
            let client = try EmbeddedConnection()
            try client.send(
                Self.post("/pusher/auth", "Origin: \(origin)\r\n").replacing("Host: localhost", with: "Host: \(host)")
            )
            #expect(try client.statuses() == [status], "\(host) \(origin)")
        }
    }

    // MARK: Hosts

    @Test(
        "on a loopback address, the server accepts names of this machine and IP addresses only",
        arguments: [
            ("127.0.0.1", true), ("127.0.0.1:6001", true), ("LOCALHOST:80", true), ("app.localhost:6001", true),
            ("[::1]:6001", true), ("10.0.2.2:6001", true), ("evil.test", false), ("evil.test:6001", false),
            ("localhost.evil.test", false), ("127.0.0.1.evil.test", false), ("evillocalhost", false), ("", false),
            ("localhost:x", false), ("localhost:", false), ("[::1].evil.test", false), ("[::1", false),
            ("docker.test:6001", true), ("xdocker.test", false),
        ]
    )
    func hosts(host: String, isAccepted: Bool) {
        let rule = HostRule(boundTo: "127.0.0.1", allowed: ["Docker.test"])
        #expect(rule.accepts(host) == isAccepted)
        let policy = CrossOriginPolicy(Options(), hostRule: rule)
        let request = Request(target: "/apps/1/channels", headers: ["Host": host]).http
        let refusal = policy.refusal(of: request)
        #expect((refusal == nil) == isAccepted)
        if !isAccepted {
            #expect(refusal?.status == 403)
            #expect(
                refusal.map { String(decoding: $0.body, as: UTF8.self) }?.hasSuffix(
                    "add it to allowedHosts (pusher serve: --allow-host)"
                ) == true
            )
        }
        #expect(CrossOriginPolicy(allowedOrigins: []).refusal(of: request) == nil)
    }

    @Test("on a loopback address, the server refuses a request with two hosts, and accepts one without a host")
    func hostCount() {
        let policy = CrossOriginPolicy(allowedOrigins: [], hostRule: HostRule(boundTo: "127.0.0.1"))
        let host = HTTPHeader(name: "Host", value: "localhost")
        #expect(policy.refusal(of: Request(target: "/", headers: [host, host]).http)?.status == 403)
        #expect(policy.refusal(of: Request(target: "/").http) == nil)
    }

    @Test("on a socket, a page with a foreign name gets neither a connection nor an answer of the API")
    func foreignHostOnSocket() async throws {
        var options = Options()
        options.allowedHosts = ["docker.test"]
        try await PusherTestServer.withServer(options: options) { server in
            for host in ["evil.test", "evil.test:\(server.port)"] {
                for request in [RequestLimitTests.upgrade, Self.post(), Self.post("/apps/1/events")] {
                    let client = try await ByteConnection.connect(port: server.port)
                    client.write(request.replacing("Host: localhost", with: "Host: \(host)"))
                    #expect(await client.readText().hasPrefix("HTTP/1.1 403 "))
                    client.close()
                }
            }
            #expect(server.connections.isEmpty && server.authorizationRequests.isEmpty)
            let client = try await ByteConnection.connect(port: server.port)
            client.write(RequestLimitTests.upgrade.replacing("Host: localhost", with: "Host: docker.test:1"))
            #expect(await client.readHead().first == "HTTP/1.1 101 Switching Protocols")
            client.close()
        }
    }

    @Test("in memory, the server refuses upgrades and requests of foreign pages too")
    func inMemory() {
        let world = TransportWorld()
        let origin = HTTPHeader(name: "Origin", value: "https://evil.test")
        #expect(world.request("/pusher/auth", headers: [origin]).status == 403)
        let events = Log<InMemoryLink.Event>()
        let request = Request(target: "/app/app-key", headers: [origin])
        let link = world.network.open(request, on: world.loop) { events.append($0) }
        world.loop.run()
        #expect(events.elements == [.refused(status: 403)])
        #expect(world.server.connections.isEmpty)
        withExtendedLifetime(link) {}
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
        client.server.failAuthorizations(1, with: .status(503, headers: ["Retry-After": "1"]))
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
            ("POST /x HTTP/1.1\r\nHost: localhost\r\n\(origin)Content-Length: 1\r\n\r\n", 408),
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
        let field = HTTPHeader(name: "access-control-allow-origin", value: "https://wrong.example.test")
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
        try client.send("OPTIONS /pusher/auth HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n")
        #expect(try client.statuses() == [405])
        try client.send(Self.preflight("/pusher/auth", from: "http://localhost", "Origin: http://localhost\r\n"))
        #expect(try client.statuses() == [405])
    }

    @Test("on a socket, a page sends a preflight and then gets an authorization")
    func onSocket() async throws {
        try await PusherTestServer.withServer { server in
            let url = server.url + "/pusher/auth"
            var headers: HTTPFields = [
                "Origin": "http://localhost:3000", "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization",
            ]
            let preflight = HTTPRequest.to(url, method: "OPTIONS", headers: headers, body: nil)
            let allowed = try await PooledHTTPRequester.ofTests.response(to: preflight)
            #expect(allowed.status == 204)
            #expect(allowed.headers["Access-Control-Allow-Headers"] == "authorization")
            headers = ["Origin": "http://localhost:3000", "Authorization": "Bearer t"]
            let request = HTTPRequest.to(url, headers: headers, body: Self.form)
            let response = try await PooledHTTPRequester.ofTests.response(to: request)
            #expect(response.status == 200)
            #expect(response.headers["Access-Control-Allow-Origin"] == "http://localhost:3000")
            #expect(server.authorizationRequests.count == 1)
        }
    }
}
